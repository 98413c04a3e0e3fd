import { test } from 'vitest'
import { hasClickHouse } from '../support/clickhouse.ts'
import { natsTest } from '../support/nats.ts'
import { hasPostgres } from '../support/postgres.ts'
import { storm } from './storm.ts'

const allTest = hasClickHouse && hasPostgres ? natsTest : test.skip

allTest(
  'each event that got 200 is once in both databases, though each part is killed',
  async () => {
    await storm({ events: 1, batch: 5, pauseMs: 0, outageMs: 1000, isFull: false })
  },
  900_000,
)
