import { test } from 'vitest'
import { TIER } from '../../../scripts/tiers.mjs'
import { hasClickHouse } from '../support/clickhouse.ts'
import { natsTest } from '../support/nats.ts'
import { hasPostgres } from '../support/postgres.ts'
import { type Plan, storm } from './storm.ts'

const allTest = hasClickHouse && hasPostgres ? natsTest : test.skip

/** In the night, each part is suspended too, and PostgreSQL is down for a minute. */
const PLAN: Plan =
  TIER === 'full'
    ? { events: 40_000, batch: 10, pauseMs: 6000, outageMs: 60_000, isFull: true }
    : { events: 1, batch: 5, pauseMs: 0, outageMs: 1000, isFull: false }

allTest(
  'each event that got 200 is once in both databases, though each part is killed',
  () => storm(PLAN),
  1_800_000,
)
