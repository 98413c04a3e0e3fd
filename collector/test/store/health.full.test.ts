import { expect, onTestFinished, test } from 'vitest'
import { newEvent } from '../../src/conformance/new-event.ts'
import type { PartHealth } from '../../src/part-health.ts'
import { Database } from '../../src/store/sqlite/database.ts'
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { systemClock } from '../../src/system-clock.ts'
import { newDatabaseFile } from '../support/process.ts'

function openStore(maxBytes?: number) {
  const path = newDatabaseFile()
  const store = new SqliteStore({
    path,
    durability: 'process',
    maxEvents: 1_000_000,
    maxBytes,
    clock: systemClock,
    plan: null,
    onFault: () => {},
  })
  onTestFinished(() => store.close())
  return { path, store }
}

async function fill(store: SqliteStore): Promise<number> {
  for (let count = 0; ; count++) {
    const events = Array.from({ length: 50 }, (_, index) => newEvent(`${count}-${index}`))
    try {
      await store.log.append(events)
    } catch {
      return count
    }
  }
}

const NOT_READY = { part: 'store', isReady: false, waiting: 0 } satisfies Partial<PartHealth>

test('a full database is not ready, says why, and becomes ready by itself as soon as there is room', async () => {
  const { store } = openStore(400_000)
  expect(await fill(store)).toBeGreaterThan(0)

  expect(await store.health()).toMatchObject([{ ...NOT_READY, reason: expect.stringContaining('full') }])
  const [state] = await store.health()
  expect(state).toMatchObject(NOT_READY)
  expect(state?.fill).toBeGreaterThan(0.9)

  await store.clear()
  await expect.poll(async () => (await store.health())[0]?.isReady).toBe(true)
  expect(await store.log.append([newEvent('after')])).toMatchObject([{ status: 'accepted' }])
})

test('the store stays ready after it has refused events because of their data', async () => {
  const { store } = openStore(400_000)

  const tooLarge = store.log.append([newEvent('large', { body: 'x'.repeat(800_000) })])

  await expect(tooLarge).rejects.toThrow(/full/)
  expect(await store.health()).toMatchObject([{ isReady: true, reason: null }])
})

test('after a failed write, the store is not ready while another process locks the file, and is ready afterwards', async () => {
  const { path, store } = openStore()
  const other = new Database(path)
  onTestFinished(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  await expect(store.log.append([newEvent('a')])).rejects.toThrow(/locked/)

  expect(await store.health()).toMatchObject([{ ...NOT_READY, reason: expect.stringContaining('locked') }])

  other.exec('ROLLBACK')
  expect(await store.health()).toMatchObject([{ isReady: true }])
})

test('the queue for a commit is counted in events', async () => {
  const { store } = openStore()

  const appended = store.log.append([newEvent('a'), newEvent('b')])
  const during = await store.health()
  await appended

  expect(during).toMatchObject([{ isReady: true, waiting: 2 }])
  expect(await store.health()).toMatchObject([{ waiting: 0 }])
})
