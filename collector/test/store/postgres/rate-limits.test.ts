import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Database } from '../../../src/store/postgres/database.ts'
import { migrate } from '../../../src/store/postgres/migrations.ts'
import { SharedRateLimits } from '../../../src/store/postgres/rate-limits.ts'
import { describeWithPostgres, newDatabase } from '../../support/postgres.ts'
import { NOTE_WINDOWS, windowsOf } from './windows.ts'

async function openLimits(processes: number) {
  const address = await newDatabase()
  const databases = Array.from({ length: processes }, () => new Database(address))
  const client = new pg.Client(address)
  onTestFinished(async () => {
    await Promise.all([client.end(), ...databases.map((one) => one.close())])
  })
  await migrate(databases[0] as Database, 1)
  await client.connect()
  await client.query(NOTE_WINDOWS)
  const limits = databases.map((one) => new SharedRateLimits(one, systemClock)) as [SharedRateLimits]
  const takeAll = (source: string, rate: number, count: number) =>
    Promise.all(Array.from({ length: count }, (_, turn) => limits[turn % processes]?.take(source, rate)))
  return { limits, client, takeAll }
}

const within = (waits: ReadonlyArray<number | undefined>) => waits.filter((wait) => wait === undefined).length
const longest = (waits: ReadonlyArray<number | undefined>) => Math.max(...waits.map((wait) => wait ?? 0))

describeWithPostgres('rates on PostgreSQL', () => {
  test('processes that count the same source let through the rate in each window, all together, and no more', async () => {
    const { client, takeAll } = await openLimits(3)

    const first = await takeAll('shop', 50, 150)
    // The wait that was told is long enough.
    await sleep(longest(first) + 5)
    const second = await takeAll('shop', 50, 150)

    const windows = await windowsOf(client, 'shop')
    expect(windows.length).toBeGreaterThanOrEqual(2)
    expect(windows.slice(0, 2)).toEqual([50, 50])
    expect(within([...first, ...second])).toBe(windows.reduce((sum, count) => sum + count, 0))
    expect(longest([...first, ...second])).toBeLessThanOrEqual(1000)
  })

  test('what comes together is counted together, and a full window is asked for no more', async () => {
    const { client, takeAll } = await openLimits(1)
    const statements = async () => (await client.query('SELECT * FROM noted')).rows.length

    expect(within(await takeAll('shop', 5000, 1000))).toBe(1000)
    expect(await statements()).toBeLessThanOrEqual(2)
    const { rows } = await client.query('SELECT taken FROM rate_window')
    expect(rows).toEqual([{ taken: 1000 }])

    await takeAll('full', 1, 10)
    const before = await statements()
    const waits = await takeAll('full', 1, 10)
    // Unless the second was over in between, which a busy machine may take.
    if (within(waits) === 0) expect(await statements()).toBe(before)
  })

  test('sources are counted each for itself, also those with long names and strange ones', async () => {
    const { limits } = await openLimits(1)
    const names = ['a', 'b', 'ö'.repeat(5000), `${'ö'.repeat(4999)}x`, 'nul\u0000', '']

    const waits = await Promise.all(
      names.flatMap((name) => [limits[0].take(name, 1), limits[0].take(name, 1)]),
    )

    expect(waits.map((wait) => wait === undefined)).toEqual(names.flatMap(() => [true, false]))
  })

  test('a clock of the server that was set back does not hold a source up', async () => {
    const { client, limits } = await openLimits(1)
    await limits[0].take('shop', 1)
    await client.query('UPDATE rate_window SET started_at = started_at + 3600000')

    expect(await limits[0].take('shop', 1)).toBeUndefined()
  })

  test('what cannot be counted rejects, and the next one is counted', async () => {
    const { client, limits } = await openLimits(1)
    await client.query('ALTER TABLE rate_window RENAME TO away')

    const failed = await Promise.allSettled([limits[0].take('shop', 2), limits[0].take('shop', 2)])
    await client.query('ALTER TABLE away RENAME TO rate_window')

    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await limits[0].take('shop', 2)).toBeUndefined()
  })
})
