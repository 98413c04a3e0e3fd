import { describeStore, type Subject } from 'trackpost-collector/conformance'
import * as vitest from 'vitest'
import { describe } from 'vitest'
import { systemClock } from '../../../collector/src/system-clock.ts'
import { PostgresStore } from '../../src/postgres/postgres-store.ts'
import { describeWithPostgres, newDatabase } from '../support/postgres.ts'

async function postgres(): Promise<Subject> {
  const address = await newDatabase()
  let aheadMs = 0
  const clock = { ...systemClock, now: () => 1_000_000 + aheadMs }
  return {
    advance(ms) {
      aheadMs += ms
    },
    open: () =>
      PostgresStore.open({
        address,
        retentionDays: 30,
        clock,
        onFault: (what, cause) => {
          throw new Error(what, { cause })
        },
      }),
  }
}

describeWithPostgres('PostgreSQL', () => describe('as a store', () => describeStore(vitest, postgres)))
