import { copyFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { expect, onTestFinished, test } from 'vitest'
import type { NewEvent } from '../src/store/ports.ts'
import { Store, type StoreOptions } from '../src/store/store.ts'

function openStore(options: Partial<StoreOptions> = {}): Store {
  const store = new Store({ path: ':memory:', durability: 'process', maxEvents: 1_000_000, ...options })
  onTestFinished(() => store.close())
  return store
}

function newPath(): string {
  return join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'events.db')
}

function newEvent(messageId: string, fields: Partial<NewEvent> = {}): NewEvent {
  return {
    source: 'shop',
    reason: null,
    kind: 'track',
    name: 'Größe gewählt',
    userId: 'zoë',
    anonymousId: null,
    messageId,
    receivedAtMs: 1_000_000,
    receivedAt: new Date(1_000_000).toISOString(),
    timestampMs: 1_000_000,
    body: JSON.stringify({ messageId }),
    deliveries: [],
    ...fields,
  }
}

function newEvents(count: number, receivedAtMs = 1_000_000): NewEvent[] {
  return Array.from({ length: count }, (_, index) => newEvent(`id-${index}`, { receivedAtMs }))
}

function accepted(events: ReadonlyArray<{ reason: string | null }>): number {
  return events.filter(({ reason }) => reason === null).length
}

test('thousands of ids in one commit are all told apart, and known again in the next', () => {
  const store = openStore()

  expect(accepted(store.commit(newEvents(5000)))).toBe(5000)
  expect(accepted(store.commit([...newEvents(5000), newEvent('fresh')]))).toBe(1)
})

test('ids older than the window are accepted again, and are deleted', () => {
  const path = newPath()
  let nowMs = 0
  const store = openStore({ path, dedupWindowMs: 1000, now: () => nowMs })
  store.commit(newEvents(3000, 10_000))

  expect(accepted(store.commit(newEvents(3000, 10_999)))).toBe(0)
  expect(accepted(store.commit(newEvents(1000, 11_000)))).toBe(1000)
  nowMs = 11_999
  for (let more = true; more; more = store.trim().hasMore);

  const reader = new Database(path)
  onTestFinished(() => {
    reader.close()
  })
  expect(reader.prepare('SELECT count(*) AS value FROM seen').get()).toMatchObject({ value: 1000 })
})

test('the retention limit keeps up with what comes', () => {
  const store = openStore({ maxEvents: 2000 })

  for (let turn = 0; turn < 10; turn++) {
    store.commit(Array.from({ length: 1000 }, (_, index) => newEvent(`${turn}-${index}`)))
    store.trim()
  }

  expect(store.count()).toBeLessThanOrEqual(3000)
  expect(store.events({ order: 'newest', limit: 1 })[0]?.messageId).toBe('9-999')
})

test('what is owed for a deleted event is deleted with it', async () => {
  const store = openStore({ maxEvents: 1000 })
  const deliveries = [{ destination: 'Hook' }]
  store.commit(Array.from({ length: 1000 }, (_, index) => newEvent(`old-${index}`, { deliveries })))

  store.commit(Array.from({ length: 1000 }, (_, index) => newEvent(`new-${index}`)))
  store.trim()

  expect(await store.outbox.nextDueMs('Hook')).toBeUndefined()
})

test('a commit that fails leaves nothing behind, and the next one works', () => {
  const store = openStore({ maxBytes: 200_000 })
  const big = newEvent('big', { body: 'x'.repeat(400_000) })

  expect(() => store.commit([newEvent('a'), big])).toThrow(/full/)
  expect(store.count()).toBe(0)
  expect(accepted(store.commit([newEvent('a')]))).toBe(1)
  expect(store.events()).toMatchObject([{ source: 'shop', messageId: 'a' }])
})

test('a file of another version is refused', () => {
  const path = newPath()
  const other = new Database(path)
  other.pragma('user_version = 99')
  other.close()

  expect(() => openStore({ path })).toThrow(/version 99/)
})

test('after closing, the file alone has everything', () => {
  const path = newPath()
  const store = new Store({ path, durability: 'power', maxEvents: 10 })
  store.commit(newEvents(10))
  store.close()
  const copy = newPath()
  copyFileSync(path, copy)

  expect(openStore({ path: copy }).count()).toBe(10)
})
