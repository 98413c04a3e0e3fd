import { copyFileSync, existsSync, rmSync, statfsSync, statSync, truncateSync } from 'node:fs'
import Database from 'libsql'
import { expect, onTestFinished, test, vi } from 'vitest'
import { newEvent } from '../../src/conformance/new-event.ts'
import type { NewEvent } from '../../src/store/ports.ts'
import { BATCHES_COMPARED } from '../../src/store/same-content.ts'
import { Database as SqliteDatabase } from '../../src/store/sqlite/database.ts'
import { Retention } from '../../src/store/sqlite/retention.ts'
import { SyncStore, type SyncStoreOptions } from '../../src/store/sqlite/sync-store.ts'
import { newDatabaseFile } from '../support/process.ts'
import { batchOf } from './batch-of.ts'

function openStore(options: Partial<SyncStoreOptions> = {}): SyncStore {
  const store = new SyncStore({ path: ':memory:', durability: 'process', maxEvents: 1_000_000, ...options })
  onTestFinished(() => store.close())
  return store
}

function openReader(path: string) {
  const reader = new Database(path)
  onTestFinished(() => void reader.close())
  return reader
}

function newEvents(count: number, receivedAtMs = 1_000_000): NewEvent[] {
  return Array.from({ length: count }, (_, index) => newEvent(`id-${index}`, { receivedAtMs }))
}

function accepted(events: ReadonlyArray<{ reason: string | null }>): number {
  return events.filter(({ reason }) => reason === null).length
}

test('thousands of ids in one commit are distinguished, and recognised in the next', () => {
  const store = openStore()

  expect(accepted(store.commit(batchOf(newEvents(5000))))).toBe(5000)
  expect(accepted(store.commit(batchOf([...newEvents(5000), newEvent('fresh')])))).toBe(1)
})

test('destination and state in one search refer to the same delivery', () => {
  const store = openStore()
  const deliveries = [{ destination: 'Hook' }, { destination: 'File', skippedBecause: 'it is disabled' }]
  store.commit(batchOf([newEvent('m', { deliveries })]))

  expect(store.count({ q: 'destination:Hook delivery:pending' })).toBe(1)
  expect(store.count({ q: 'destination:File delivery:skipped' })).toBe(1)
  expect(store.count({ q: 'destination:Hook delivery:skipped' })).toBe(0)
})

test('a repeated id with other inherited fields is a conflict, up to a limit of batches that are compared', () => {
  const store = openStore()
  const handedDown = (place: string) => JSON.stringify({ context: { place } })
  const from = (place: (index: number) => string) =>
    Array.from({ length: BATCHES_COMPARED + 1 }, (_, index) =>
      newEvent(`id-${index}`, { inherited: handedDown(place(index)) }),
    )
  store.commit(batchOf(from((index) => `Köln ${index}`)))

  const same = store.commit(batchOf(from((index) => `Köln ${index}`)))
  const others = store.commit(batchOf(from(() => 'Bonn')))

  expect(new Set(same.map(({ reason }) => reason))).toEqual(new Set(['duplicate']))
  expect(others.map(({ reason }) => reason)).toEqual([
    ...Array(BATCHES_COMPARED).fill('dedup_conflict'),
    'duplicate',
  ])
})

test('ids older than the deduplication window are accepted again, and are deleted', () => {
  const path = newDatabaseFile()
  let nowMs = 0
  const store = openStore({ path, dedupWindowMs: 1000, now: () => nowMs })
  store.commit(batchOf(newEvents(3000, 10_000)))

  expect(accepted(store.commit(batchOf(newEvents(3000, 10_999))))).toBe(0)
  expect(accepted(store.commit(batchOf(newEvents(1000, 11_000))))).toBe(1000)
  nowMs = 11_999
  for (let more = true; more; more = store.trim().hasMore);

  const reader = openReader(path)
  expect(reader.prepare('SELECT count(*) AS value FROM seen').get()).toMatchObject({ value: 1000 })
})

test('trim() limits the number of events while new events arrive', () => {
  const store = openStore({ maxEvents: 2000 })

  for (let turn = 0; turn < 10; turn++) {
    store.commit(batchOf(Array.from({ length: 1000 }, (_, index) => newEvent(`${turn}-${index}`))))
    store.trim()
  }

  expect(store.count()).toBeLessThanOrEqual(3000)
  expect(store.events({ order: 'newest', limit: 1 })[0]?.messageId).toBe('9-999')
})

test('pending deliveries of a deleted event are deleted with it', async () => {
  const store = openStore({ maxEvents: 1000 })
  const deliveries = [{ destination: 'Hook' }]
  store.commit(batchOf(Array.from({ length: 1000 }, (_, index) => newEvent(`old-${index}`, { deliveries }))))

  store.commit(batchOf(Array.from({ length: 1000 }, (_, index) => newEvent(`new-${index}`))))
  store.trim()

  expect(await store.outbox.nextDueMs('Hook')).toBeUndefined()
})

test('a commit that fails stores nothing, and the next commit works', () => {
  const store = openStore({ maxBytes: 200_000 })
  const big = newEvent('big', { body: 'x'.repeat(400_000) })

  expect(() => store.commit(batchOf([newEvent('a'), big]))).toThrow(/full/)
  expect(store.count()).toBe(0)
  expect(accepted(store.commit(batchOf([newEvent('a')])))).toBe(1)
  expect(store.events()).toMatchObject([{ source: 'shop', messageId: 'a' }])
})

test.each([3, 99])(
  'a database file of version %i, which this collector does not know, is refused',
  (version) => {
    const path = newDatabaseFile()
    const other = new Database(path)
    other.pragma(`user_version = ${version}`)
    other.close()

    expect(() => openStore({ path })).toThrow(`version ${version}, and this collector knows version 4`)
  },
)

test('after close(), the database file contains all events', () => {
  const path = newDatabaseFile()
  const store = new SyncStore({ path, durability: 'power', maxEvents: 10 })
  store.commit(batchOf(newEvents(10)))
  store.close()
  const copy = newDatabaseFile()
  copyFileSync(path, copy)

  expect(openStore({ path: copy }).count()).toBe(10)
})

test('the counts match the tables while events are added and deleted, and after clear()', () => {
  const path = newDatabaseFile()
  const store = openStore({ path, maxEvents: 1200 })
  const deliveries = [{ destination: 'Hook' }, { destination: 'Off', skippedBecause: 'integrations' }]
  const reader = openReader(path)
  const sum = (table: string) =>
    (reader.prepare(`SELECT coalesce(sum(count), 0) AS value FROM ${table}`).get() as { value: number }).value
  for (let turn = 0; turn < 6; turn++) {
    const events = Array.from({ length: 700 }, (_, index) =>
      newEvent(`${turn % 4}-${index}`, { name: `E${index % 3}`, deliveries, receivedAtMs: turn * 60_000 }),
    )
    store.commit(batchOf(events))
    while (store.trim().hasMore);

    const { value } = reader.prepare('SELECT count(*) AS value FROM event').get() as { value: number }
    expect(value).toBeLessThanOrEqual(1200)
    expect([sum('tally'), sum('total')]).toEqual([value, value])
    const pending = reader.prepare('SELECT count(*) AS value FROM delivery').get() as { value: number }
    expect(sum('delivery_tally')).toBe(pending.value)
  }

  store.clear()
  expect([store.count(), sum('tally'), sum('total'), sum('delivery_tally')]).toEqual([0, 0, 0, 0])
  while (store.trim().hasMore);
  for (const table of ['event', 'seen', 'delivery', 'segment']) {
    expect(reader.prepare(`SELECT count(*) AS value FROM ${table}`).get()).toMatchObject({ value: 0 })
  }
})

test('what events inherit from their batch is deleted with the last of them', async () => {
  const path = newDatabaseFile()
  const store = openStore({ path })
  const reader = openReader(path)
  const left = () => reader.prepare('SELECT body FROM inherited ORDER BY seq').raw().all().flat()
  const batch = (names: string[], inherited: string) => names.map((name) => newEvent(name, { inherited }))
  store.commit(
    batchOf([...batch(['a', 'b', 'c'], '{"context":{"n":1}}'), ...batch(['d', 'e'], '{"context":{"n":2}}')]),
  )
  store.commit(batchOf(batch(['f'], '{"context":{"n":3}}')))

  expect(await store.delete(['1', '2', '4', '6'])).toBe(4)
  expect(left()).toEqual(['{"context":{"n":1}}', '{"context":{"n":2}}'])
  await store.delete(['3'])
  expect(left()).toEqual(['{"context":{"n":2}}'])
  expect(store.events()).toMatchObject([{ messageId: 'e', message: { context: { n: 2 } } }])
})

test('F154: rejected events do not displace accepted ones, beyond a tenth of the limit', () => {
  const path = newDatabaseFile()
  const store = openStore({ path, maxEvents: 1000 })
  const reader = openReader(path)
  const inherited = () => reader.prepare('SELECT count(*) AS value FROM inherited').get()
  const many = (name: string, more: object) =>
    store.commit(batchOf(Array.from({ length: 800 }, (_, index) => newEvent(`${name}-${index}`, more))))
  many('first', {})
  for (let turn = 0; turn < 5; turn++) {
    many(`${turn}`, { reason: 'unknown_write_key', inherited: `{"context":{"turn":${turn}}}` })
    while (store.trim().hasMore);
  }

  expect([store.count({ status: 'accepted' }), store.count({ status: 'rejected' })]).toEqual([800, 200])
  expect(inherited()).toMatchObject({ value: 1 })
  expect(store.events({ order: 'newest', limit: 1 })[0]).toMatchObject({
    messageId: '4-799',
    message: { context: { turn: 4 } },
  })
  many('last', {})
  while (store.trim().hasMore);
  expect([store.count({ status: 'accepted' }), store.count({ status: 'rejected' })]).toEqual([900, 100])
  expect(store.totals().events.reduce((sum, { count }) => sum + count, 0)).toBe(1000)
  many('more', {})
  while (store.trim().hasMore);
  expect(store.count()).toBe(1000)
})

test('with a low limit, few events are kept, and the totals match', () => {
  const store = openStore({ maxEvents: 100 })

  for (let turn = 0; turn < 30; turn++) {
    store.commit(batchOf(Array.from({ length: 100 }, (_, index) => newEvent(`${turn}-${index}`))))
    while (store.trim().hasMore);
  }

  expect(store.count()).toBe(100)
  expect(store.totals().events.reduce((sum, { count }) => sum + count, 0)).toBe(100)
})

test('after clear(), ids are forgotten at once, even before their rows are deleted', () => {
  const store = openStore()
  store.commit(batchOf(newEvents(3000)))
  store.clear()

  expect(store.events()).toEqual([])
  const again = store.commit(batchOf(newEvents(3000)))
  expect(accepted(again)).toBe(3000)
  expect(again[0]?.seq).toBe(3001)
  while (store.trim().hasMore);
  expect(accepted(store.commit(batchOf(newEvents(3000))))).toBe(0)
})

test('sequence numbers continue after clear() and a restart', () => {
  const path = newDatabaseFile()
  const first = new SyncStore({ path, durability: 'process', maxEvents: 1000 })
  first.commit(batchOf(newEvents(10)))
  first.clear()
  while (first.trim().hasMore);
  first.close()

  expect(openStore({ path }).commit(batchOf([newEvent('next')]))[0]?.seq).toBe(11)
})

test('names and ids that differ only in U+0000 or in lone surrogates are different', () => {
  const store = openStore()
  const ids = ['a\u0000b', 'a\u0000c', 'a', '\ud800', '\ud801']

  expect(accepted(store.commit(batchOf(ids.map((id) => newEvent(id, { name: id, source: id })))))).toBe(5)
  expect(accepted(store.commit(batchOf(ids.map((id) => newEvent(id, { source: 'one' })))))).toBe(5)
  const kept = store.events({ limit: 5 })
  expect(new Set(kept.map(({ name }) => name)).size).toBe(5)
  expect(new Set(kept.map(({ source }) => source)).size).toBe(5)
})

test('if the disk is too full to delete anything, clear() makes a new file; the sequence numbers continue, and the database id stays', async () => {
  const path = newDatabaseFile()
  const deliveries = [{ destination: 'Hook' }]
  const store = openStore({ path })
  store.commit(batchOf([newEvent('a', { deliveries })]))
  const [before] = await store.outbox.claim('Hook', 1, 1000)
  expect(await store.assertions.use('j1', 5000, 0)).toBe(true)
  expect(await store.tokenKeys.replace(undefined, 'keys')).toBe('keys')
  const group = { key: 'message 7', events: [newEvent('b')] }
  const again = { groups: [group], requests: [], isOnce: true }
  expect(store.commit(again)).toHaveLength(1)
  const full = vi.spyOn(Retention.prototype, 'clear').mockImplementationOnce(() => {
    throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  })

  expect(store.clear()).toBe(true)
  full.mockRestore()

  expect(store.commit(again)).toEqual([])
  expect(store.events()).toEqual([])
  expect(store.isSameFile()).toBe(true)
  expect(store.commit(batchOf([newEvent('a', { deliveries })]))).toMatchObject([{ seq: 3, reason: null }])
  const [after] = await store.outbox.claim('Hook', 1, 1000)
  expect([before?.key, after?.key].map((key) => key?.split('-'))).toEqual([
    [expect.any(String), '1', expect.any(String)],
    [before?.key.split('-')[0], '3', expect.any(String)],
  ])
  expect(await store.assertions.use('j1', 5000, 0)).toBe(false)
  expect(await store.tokenKeys.read()).toMatchObject({ text: 'keys' })
})

test('if the database is larger than the room on the disk, clear() makes a new file; after it was removed, clear() fails', () => {
  const path = newDatabaseFile()
  const store = openStore({ path })
  store.commit(batchOf(newEvents(3)))
  expect(store.clear()).toBe(false)
  const { bavail, bsize } = statfsSync(path)
  // The rest of the file takes no room.
  truncateSync(path, bavail * bsize + 1_000_000_000)

  expect(store.clear()).toBe(true)

  expect(statSync(path).size).toBeLessThan(1_000_000)
  expect(store.commit(batchOf(newEvents(1)))).toMatchObject([{ seq: 4, reason: null }])
  rmSync(path)
  expect(() => store.clear()).toThrow(/removed or replaced/)
  expect(existsSync(path)).toBe(false)
})

test('if the new file of clear() has no room for the keys of the log, the token keys and the database id stay', async () => {
  const store = openStore({ path: newDatabaseFile() })
  await store.tokenKeys.replace(undefined, 'keys')
  store.commit({ groups: [{ key: 'message 7', events: [newEvent('b')] }], requests: [], isOnce: true })
  const isFull = () => {
    throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  }
  vi.spyOn(Retention.prototype, 'clear').mockImplementationOnce(isFull)
  const { run } = SqliteDatabase.prototype
  vi.spyOn(SqliteDatabase.prototype, 'run').mockImplementation(function (
    this: SqliteDatabase,
    sql,
    ...values
  ) {
    return sql.includes('INTO consumed') ? isFull() : run.call(this, sql, ...values)
  })
  onTestFinished(() => void vi.restoreAllMocks())

  expect(store.clear()).toBe(true)

  expect(await store.tokenKeys.read()).toMatchObject({ text: 'keys' })
  expect(store.isSameFile()).toBe(true)
  expect(store.commit(batchOf([newEvent('c')]))).toMatchObject([{ seq: 2, reason: null }])
})

test('nothing can be written after the database file was removed', () => {
  const path = newDatabaseFile()
  const store = openStore({ path })
  store.commit(batchOf([newEvent('a')]))
  expect(store.isSameFile()).toBe(true)

  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`)

  expect(store.isSameFile()).toBe(false)
  expect(() => store.commit(batchOf([newEvent('b')]))).toThrow(/removed/)
})

test('the keys of groups are deleted after some days, and not before', () => {
  let nowMs = 1_000_000
  const store = openStore({ now: () => nowMs })
  const group = { key: 'a', events: [newEvent('', { messageId: null })] }
  const afterDays = (days: number) => {
    nowMs += days * 24 * 60 * 60 * 1000
    return store.commit({ groups: [group], requests: [], isOnce: true }).length
  }

  expect([afterDays(0), afterDays(2.9), afterDays(0.2), afterDays(1)]).toEqual([1, 0, 1, 0])
})

test('sequence numbers continue after all events have become too old', () => {
  let nowMs = 1_000_000
  const store = openStore({ now: () => nowMs, retentionDays: 2 })
  store.commit(batchOf([newEvent('old', { receivedAtMs: nowMs })]))
  nowMs += 3 * 24 * 60 * 60 * 1000
  expect(store.trim().hasDeleted).toBe(true)

  expect(store.commit(batchOf([newEvent('new', { receivedAtMs: nowMs })]))).toMatchObject([{ seq: 2 }])
})

test('events that are too old are deleted in whole segments, with their counts; newer events stay', () => {
  let nowMs = 1_000_000
  const store = openStore({ now: () => nowMs, retentionDays: 2 })
  const day = 24 * 60 * 60 * 1000
  const commit = (prefix: string) =>
    store.commit(
      batchOf(
        Array.from({ length: 4500 }, (_, index) => newEvent(`${prefix}${index}`, { receivedAtMs: nowMs })),
      ),
    )
  const trimAll = () => {
    while (store.trim().hasMore);
  }
  commit('old')
  nowMs += day
  commit('new')
  nowMs += day
  trimAll()
  expect(store.count()).toBe(9000)

  nowMs += 1000
  commit('newest')
  trimAll()

  // The first segment has the sequence numbers 1 to 4,095. The next segment stays, because it has events of both days.
  expect(store.count()).toBe(13_500 - 4095)
  expect(store.totals().events.map(({ count }) => count)).toEqual([13_500 - 4095])
})
