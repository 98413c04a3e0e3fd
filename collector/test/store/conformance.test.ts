import * as vitest from 'vitest'
import { describe } from 'vitest'
import { describeStore, type Subject } from '../../src/conformance/store.ts'
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { systemClock } from '../../src/system-clock.ts'
import { newDatabaseFile } from '../support/process.ts'

function sqlite(): Subject {
  const path = newDatabaseFile()
  let aheadMs = 0
  const clock = { ...systemClock, now: () => 1_000_000 + aheadMs }
  return {
    advance(ms) {
      aheadMs += ms
    },
    async open() {
      return new SqliteStore({
        path,
        durability: 'process',
        maxEvents: 1_000_000,
        clock,
        plan: null,
        onFault: (what, cause) => {
          throw new Error(what, { cause })
        },
      })
    },
  }
}

describe('SQLite', () => describeStore(vitest, sqlite))
