import { beforeAll, expect, test, vi } from 'vitest'
import { TrackingPlan } from '../../../../collector/src/plan/plan.ts'
import { SearchSyntaxError } from '../../../../collector/src/search/syntax.ts'
import type { EventReader } from '../../../../collector/src/store/event-reader.ts'
import { SqliteStore } from '../../../../collector/src/store/sqlite/sqlite-store.ts'
import { systemClock } from '../../../../collector/src/system-clock.ts'
import { newDatabaseFile } from '../../../../collector/test/support/process.ts'
import { Database as Postgres } from '../../../src/postgres/database.ts'
import { PostgresStore } from '../../../src/postgres/postgres-store.ts'
import { describeWithPostgres, newDatabase } from '../../support/postgres.ts'
import { fill, REQUESTS, START_MS } from './material.ts'
import { allQuestions, type Question } from './questions.ts'

const PLAN = { title: 'Shop', track: { 'Order Completed': {}, Never: {} }, identify: {} }
const plan = new TrackingPlan(PLAN)

/** Spreads the events of one day over several days, in the partitions of those days. */
async function spread(address: string): Promise<void> {
  const postgres = new Postgres(address)
  const [today] = await postgres.query<{ day: string; firstSeq: number }>(
    'SELECT day::text AS day, first_seq AS "firstSeq" FROM log_day',
  )
  const { day, firstSeq } = today ?? { day: '', firstSeq: 0 }
  const dayBefore = (days: number) => new Date(Date.parse(day) - days * 86_400_000).toISOString().slice(0, 10)
  await postgres.query('DELETE FROM log_day')
  for (const [days, from, to] of [
    [2, firstSeq, 149],
    [1, 150, 299],
    [0, 300, 1e6],
  ] as const) {
    await postgres.query('INSERT INTO log_day (first_seq, day) VALUES ($1, $2)', [from, dayBefore(days)])
    if (days === 0) continue
    for (const table of ['event', 'delivery', 'attempt', 'request']) {
      await postgres.query(
        `CREATE TABLE ${table}_before_${days} PARTITION OF ${table} FOR VALUES FROM ('${dayBefore(days)}') TO ('${dayBefore(days - 1)}')`,
      )
      await postgres.query(`UPDATE ${table} SET day = $1 WHERE seq BETWEEN $2 AND $3`, [
        dayBefore(days),
        from,
        to,
      ])
    }
  }
  await postgres.close()
}

describeWithPostgres('the results of queries on PostgreSQL', () => {
  let sqlite: EventReader
  let postgres: EventReader
  beforeAll(async () => {
    const path = newDatabaseFile()
    let nowMs = START_MS + 3_000_000
    const clock = { ...systemClock, now: () => nowMs }
    const onFault = (what: string, cause: unknown) => {
      throw new Error(what, { cause })
    }
    const loaded = { plan, file: PLAN }
    // No time limit, since the test compares results.
    const queryMs = 3_600_000
    const address = await newDatabase()
    const stores = [
      new SqliteStore({
        path,
        durability: 'process',
        maxEvents: 1_000_000,
        clock,
        plan: loaded,
        queryMs,
        onFault,
      }),
      await PostgresStore.open({
        address,
        retentionDays: 30,
        clock,
        plan,
        queryMs,
        onFault,
      }),
    ] as const
    for (const store of stores) {
      nowMs = START_MS + 3_000_000
      store.start({ committed() {}, cleared() {}, changed() {} })
      await fill(store, (ms) => {
        nowMs += ms
      })
      await vi.waitFor(async () => expect((await store.totals()).requests).toBe(REQUESTS), 10_000)
    }
    await spread(address)
    sqlite = stores[0].reader
    postgres = stores[1].reader
    return async () => {
      for (const store of stores) await store.close()
    }
  }, 120_000)

  const questions = allQuestions()
  test.each([...new Set(questions.map(({ name }) => name))])(
    '%s: the same as on SQLite',
    async (name) => {
      const asked = sampleOf(questions.filter((question) => question.name === name))
      let withResult = 0
      for (const question of asked) {
        const expected = await outcomeOf(sqlite, question)
        expect(await outcomeOf(postgres, question), question.title).toEqual(expected)
        if (expected !== null) withResult++
      }
      // Otherwise, the test would compare only empty results.
      expect(withResult).toBeGreaterThan(asked.length / 4)
    },
    300_000,
  )
})

/** Without `--full`, only every sixth of hundreds of similar queries runs, which saves two minutes. */
function sampleOf(asked: Question[]): Question[] {
  if (process.env['TEST_FULL'] === '1' || asked.length < 100) return asked
  return asked.filter((_, index) => index % 6 === 0)
}

async function outcomeOf(reader: EventReader, { name, parameters }: Question): Promise<unknown> {
  try {
    return await reader.ask(name, parameters as never)
  } catch (cause) {
    if (cause instanceof SearchSyntaxError) return { refused: cause.message, at: cause.position }
    return { failed: `${reader.constructor.name}: ${(cause as Error).message}` }
  }
}
