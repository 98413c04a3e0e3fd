import { test } from 'vitest'
import { hasClickHouse } from '../support/clickhouse.ts'
import { natsTest } from '../support/nats.ts'
import { hasPostgres } from '../support/postgres.ts'
import { storm } from './storm.ts'

const allTest = hasClickHouse && hasPostgres ? natsTest : test.skip

allTest(
  '40,000 events: each is once in both databases, though each part is killed and suspended, and one is down for a minute',
  async () => {
    await storm({ events: 40_000, batch: 10, pauseMs: 6000, outageMs: 60_000, isFull: true })
  },
  1_800_000,
)
