import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../collector/src/system-clock.ts'
import { fakeClock } from '../../../collector/test/support.ts'
import { Database } from '../../src/postgres/database.ts'
import { migrate } from '../../src/postgres/migrations.ts'
import { SharedRateLimits } from '../../src/postgres/rate-limits.ts'
import { describeWithPostgres, newDatabase } from '../support/postgres.ts'
import { connect, rowsOf } from './open.ts'
import { stopClock } from './stopped-clock.ts'

async function openLimits(processes: number) {
  const address = await newDatabase()
  const client = await connect(address)
  const { advance } = await stopClock(client)
  const databases = Array.from({ length: processes }, () => new Database(address))
  onTestFinished(async () => {
    await Promise.all(databases.map((one) => one.close()))
  })
  await migrate(databases[0] as Database, systemClock.now())
  let statements = 0
  const clock = fakeClock()
  const limits = databases.map((database) => {
    const query: Database['query'] = (text, values) => {
      statements++
      return database.query(text, values)
    }
    return new SharedRateLimits({ query }, clock)
  }) as [SharedRateLimits, ...SharedRateLimits[]]
  return {
    limits,
    client,
    advance: async (ms: number) => {
      clock.advance(ms)
      await advance(ms)
    },
    statements: () => statements,
    /** The milliseconds that each of `count` requests has to wait; 0 if it need not wait. */
    takeAll: async (source: string, rate: number, count: number) => {
      const turns = Array.from({ length: count }, (_, turn) => turn % processes)
      const waits = await Promise.all(turns.map((nth) => limits[nth]?.take(source, rate)))
      return waits.map((wait) => wait ?? 0)
    },
  }
}

const within = (waits: readonly number[]) => waits.filter((wait) => wait === 0).length

describeWithPostgres('rate limits on PostgreSQL', () => {
  test('several processes together accept exactly the rate of a source, whenever requests arrive', async () => {
    const { takeAll, advance } = await openLimits(3)

    const first = await takeAll('shop', 50, 150)
    await advance(19)
    const early = await takeAll('shop', 50, 30)
    await advance(1)
    const one = await takeAll('shop', 50, 30)
    await advance(500)
    const half = await takeAll('shop', 50, 150)
    await advance(5000)
    const second = await takeAll('shop', 50, 150)

    expect([first, early, one, half, second].map(within)).toEqual([50, 0, 1, 25, 50])
    expect(new Set(first)).toEqual(new Set([0, 20]))
    expect(new Set(early)).toEqual(new Set([1]))
  })

  test('simultaneous requests are counted together, and while the rate is known to be used up, the server is not queried', async () => {
    const { takeAll, statements, advance } = await openLimits(1)
    const before = statements()

    expect(within(await takeAll('shop', 999, 1000))).toBe(999)
    expect(statements() - before).toBe(2)
    expect(within(await takeAll('shop', 999, 1000))).toBe(0)
    expect(statements() - before).toBe(2)
    await advance(1000)
    expect(within(await takeAll('shop', 999, 1))).toBe(1)
    expect(statements() - before).toBe(3)
  })

  test('each source is counted separately, even with a long or unusual name', async () => {
    const { takeAll } = await openLimits(1)
    const names = ['a', 'b', 'ö'.repeat(5000), `${'ö'.repeat(4999)}x`, 'nul\u0000', '']

    for (const name of names) expect(await takeAll(name, 1, 2)).toEqual([0, 1000])
  })

  test('setting the clock of the server back does not block a source', async () => {
    const { takeAll, advance, limits } = await openLimits(2)
    await takeAll('shop', 1, 1)
    await advance(-3_600_000)

    expect(await limits[1]?.take('shop', 1)).toBeUndefined()
  })

  test('the rows of sources without recent requests are deleted', async () => {
    const { takeAll, advance, client } = await openLimits(1)
    await takeAll('old', 1, 1)
    await advance(59_999)
    await takeAll('young', 1, 1)
    const sources = () => rowsOf(client, 'SELECT source FROM rate_window ORDER BY 1')
    expect(await sources()).toEqual([['old'], ['young']])

    await advance(1002)
    await takeAll('new', 1, 1)

    await expect.poll(sources).toEqual([['new'], ['young']])
  })

  test('if a request cannot be counted, take() rejects, and the next request is counted', async () => {
    const { client, limits } = await openLimits(1)
    await client.query('ALTER TABLE rate_window RENAME TO away')

    const failed = await Promise.allSettled([limits[0].take('shop', 2), limits[0].take('shop', 2)])
    await client.query('ALTER TABLE away RENAME TO rate_window')

    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await limits[0].take('shop', 2)).toBeUndefined()
  })
})
