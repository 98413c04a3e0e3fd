import { copyFileSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Collector } from '../../src/index.ts'
import { Retention } from '../../src/store/sqlite/retention.ts'
import { SyncStore } from '../../src/store/sqlite/sync-store.ts'
import { newDatabaseFile, newFolder } from '../support/process.ts'
import { openCollector, post, serve, track } from '../support.ts'

async function openTwo(config = {}): Promise<[Collector, Collector]> {
  const database = newDatabaseFile()
  return [await openCollector({ store: database, config }), await openCollector({ store: database, config })]
}

test('a wait sees events that another collector on the same file has accepted', async () => {
  const [first, second] = await openTwo()
  const waiting = first.waitFor({ event: 'From B', timeout: 20_000 })
  const overHttp = fetch(`${first.url}/api/wait?event=From+B&timeout=20000`)

  await post(second, '/v1/track', track({ event: 'From B' }))

  expect(await waiting).toMatchObject([{ name: 'From B' }])
  expect((await overHttp).status).toBe(200)
})

test('a wait sees an event that another collector has accepted just after it deleted all events', async () => {
  const [first, second] = await openTwo()
  await post(second, '/v1/track', track({ event: 'Old' }))
  const waiting = first.waitFor({ event: 'New', timeout: 20_000 })
  await first.waitFor({ event: 'Old', timeout: 20_000 })

  await second.clear()
  await post(second, '/v1/track', track({ event: 'New' }))

  expect(await waiting).toMatchObject([{ name: 'New' }])
})

test('the totals of a collector include the events of another collector, and are reset when the other one deletes all events', async () => {
  const [first, second] = await openTwo()
  await post(first, '/v1/track', track())
  const batch = Array.from({ length: 40 }, () => track())

  await post(second, '/v1/batch', { batch: [...batch, { type: 'track', userId: 'u' }] })

  await expect
    .poll(() => first.stats())
    .toMatchObject({ accepted: 41, rejected: 1, byReason: { no_event: 1 } })
  const stats = async () => (await fetch(`${first.url}/api/stats`)).json()
  const before = (await stats()) as { epoch: number }
  expect(before).toMatchObject({ lastSeq: 42 })
  second.clear()
  await expect.poll(stats).toMatchObject({ accepted: 0, rejected: 0, epoch: before.epoch + 1 })
})

/** A webhook that accepts everything, and lists the idempotency keys that it gets. */
async function openKeyReceiver(): Promise<{ url: string; keys: string[] }> {
  const keys: string[] = []
  const url = await serve((request, response) => {
    keys.push(String(request.headers['idempotency-key']))
    request.resume().on('end', () => response.end())
  })
  return { url, keys }
}

test('two events never have the same idempotency key, even in different databases, or after a database was cleared', async () => {
  const { url, keys } = await openKeyReceiver()
  const config = { destinations: [{ name: 'Hook', type: 'webhook' as const, url }] }
  const database = newDatabaseFile()
  for (const path of [database, newDatabaseFile(), database]) {
    const collector = await openCollector({ store: path, config })
    await post(collector, '/v1/track', track())
    await expect.poll(() => collector.count({ q: 'delivery:delivered' })).toBe(1)
    collector.clear()
    await collector.close()
  }

  expect(new Set(keys).size).toBe(3)
})

test('F152: after a restore from a backup, new events do not have the idempotency keys of events that are lost', async () => {
  const { url, keys } = await openKeyReceiver()
  const config = { destinations: [{ name: 'Hook', type: 'webhook' as const, url }] }
  const database = newDatabaseFile()
  const run = async (delivered: number) => {
    const collector = await openCollector({ store: database, config })
    await post(collector, '/v1/track', track())
    await expect.poll(() => collector.count({ q: 'delivery:delivered' })).toBe(delivered)
    await collector.close()
  }
  await run(1)
  copyFileSync(database, `${database}.backup`)
  await run(2)

  copyFileSync(`${database}.backup`, database)
  await run(2)

  expect(keys.map((key) => key.split('-')[1])).toEqual(['1', '2', '2'])
  expect(new Set(keys).size).toBe(3)
})

test('if the database of a collector is removed, a fault is reported, and no request gets 200 any more', async () => {
  const folder = newFolder()
  const faults: string[] = []
  const collector = await openCollector({
    store: join(folder, 'events.db'),
    onFault: (what) => faults.push(what),
  })
  expect((await post(collector, '/v1/track', track())).status).toBe(200)

  rmSync(folder, { recursive: true })

  await expect.poll(() => faults).toContain('the database file was removed or replaced')
  expect((await post(collector, '/v1/track', track())).status).toBe(503)
})

test.each([
  ['the write-ahead log is removed', (path: string) => rmSync(`${path}-wal`)],
  ['the database is emptied', (path: string) => truncateSync(path)],
])('if %s, a fault is reported, and no request gets 200 any more', async (_, damage) => {
  const path = newDatabaseFile()
  const faults: string[] = []
  const collector = await openCollector({ store: path, onFault: (what) => faults.push(what) })
  expect((await post(collector, '/v1/track', track())).status).toBe(200)

  damage(path)

  expect((await post(collector, '/v1/track', track())).status).toBe(503)
  await expect.poll(() => faults).toContain('the database file was removed or replaced')
  expect((await post(collector, '/v1/track', track())).status).toBe(503)
})

test('if the database cannot be read any more, a fault is reported, and the process goes on', async () => {
  const faults: string[] = []
  const collector = await openCollector({
    store: newDatabaseFile(),
    onFault: (what) => faults.push(what),
  })
  const version = vi.spyOn(SyncStore.prototype, 'version').mockImplementation(() => {
    throw new Error('disk I/O error')
  })
  onTestFinished(() => version.mockRestore())

  await expect.poll(() => faults).toContain('the database cannot be read')
  version.mockRestore()

  expect((await post(collector, '/v1/track', track())).status).toBe(200)
  await expect.poll(() => collector.count()).toBe(1)
})

test('if one collector replaces the file because its disk is full, the others accept no event that would be lost', async () => {
  const database = newDatabaseFile()
  const faults: string[] = []
  const first = await openCollector({ store: database })
  const second = await openCollector({ store: database, onFault: (what) => faults.push(what) })
  // Only the collector that deletes all events has no room. Statements of the other collector work.
  const full = vi.spyOn(Retention.prototype, 'clear').mockImplementationOnce(() => {
    throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  })
  onTestFinished(() => full.mockRestore())

  await first.clear()

  expect((await post(second, '/v1/track', track())).status).toBe(503)
  await expect.poll(() => faults).toContain('the database file was removed or replaced')
  expect((await post(first, '/v1/track', track())).status).toBe(200)
  expect(first.count()).toBe(1)
})
