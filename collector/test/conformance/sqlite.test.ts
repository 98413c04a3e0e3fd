import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import { Backend } from '../../src/backend.ts'
import { systemClock } from '../../src/clock.ts'
import { DEFAULT_CONFIG } from '../../src/config/defaults.ts'
import { Store } from '../../src/store/sqlite/store.ts'
import { describePorts, type Subject } from './ports.ts'

/** SQLite in a file; each opening is a connection of its own, as another process has it. */
function sqlite(): Subject {
  const path = join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'events.db')
  let aheadMs = 0
  const clock = { ...systemClock, now: () => 1_000_000 + aheadMs }
  return {
    advance(ms) {
      aheadMs += ms
    },
    async open() {
      const store = new Store({ path, durability: 'process', maxEvents: 1_000_000, now: clock.now })
      const backend = new Backend({
        config: DEFAULT_CONFIG,
        store,
        clock,
        plan: null,
        release: null,
        onFault: (what, cause) => {
          throw new Error(what, { cause })
        },
      })
      backend.start()
      const { log, requests, tail, reader } = backend
      return {
        log,
        requests,
        tail,
        reader,
        queue: store.outbox,
        clear: () => backend.clear(),
        close: async () => {
          backend.hangUp()
          await backend.close()
        },
      }
    },
  }
}

describe('SQLite', () => describePorts(sqlite))
