import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { ConfigError } from '../../src/index.ts'
import type { NewEvent } from '../../src/new-event.ts'
import { Database } from '../../src/store/database.ts'
import { Store, type StoreOptions } from '../../src/store/store.ts'
import { newDatabaseFile } from '../support/process.ts'
import { fakeClock, openCollector, post, track } from '../support.ts'

function open(options: Partial<StoreOptions> = {}): Store {
  const store = new Store({ path: ':memory:', clock: fakeClock(), onFault: () => {}, ...options })
  onTestFinished(() => store.close())
  return store
}

let last = 0
function newEvent(fields: Partial<NewEvent> = {}): NewEvent {
  last++
  const receivedAtMs = Date.UTC(2026, 4, 17, 9, 30) + last
  return {
    source: 'shop',
    reason: null,
    kind: 'track',
    name: 'Order Completed',
    userId: 'ada',
    anonymousId: null,
    messageId: `m-${last}`,
    receivedAtMs,
    receivedAt: new Date(receivedAtMs).toISOString(),
    timestampMs: receivedAtMs,
    body: '{"type":"track"}',
    deliveries: [],
    ...fields,
  }
}

const seqs = (store: Store) => store.database.all<{ seq: number }>('SELECT seq FROM event ORDER BY seq')

test('the newest events are kept, and the totals count what is kept', async () => {
  const store = open({ keep: 200 })

  for (let sent = 0; sent < 50; sent++)
    await store.append(Array.from({ length: 10 }, () => newEvent({ reason: sent % 2 ? null : 'no_event' })))

  const kept = seqs(store)
  expect(kept.at(-1)?.seq).toBe(500)
  expect(kept.length).toBeGreaterThanOrEqual(200)
  expect(kept.length).toBeLessThanOrEqual(212)
  const { accepted, rejected, events, bySource } = store.totals
  expect([accepted + rejected, events, bySource.get('shop')]).toEqual(Array(3).fill(kept.length))
})

test('a file over its limit loses its oldest events, and goes on', async () => {
  const store = open({ path: newDatabaseFile(), maxBytes: 4_000_000 })
  const body = JSON.stringify({ pad: 'x'.repeat(30_000) })

  for (let sent = 0; sent < 20; sent++)
    await store.append(Array.from({ length: 20 }, () => newEvent({ body })))

  expect(store.database.usedBytes).toBeLessThan(5_000_000)
  expect(seqs(store).at(-1)?.seq).toBe(400)
})

test('F123: a full disk refuses what does not fit, keeps the rest, and is used again when it has room', async () => {
  const store = open({ path: newDatabaseFile() })
  await store.append([newEvent()])
  // SQLite answers as for a full disk.
  store.database.exec('PRAGMA max_page_count = 60')
  const large = newEvent({ body: JSON.stringify({ pad: 'x'.repeat(500_000) }) })

  const [first, second] = await Promise.allSettled([store.append([large]), store.append([newEvent()])])

  expect([first?.status, second?.status]).toEqual(['rejected', 'fulfilled'])
  expect(seqs(store)).toHaveLength(2)
  await expect(store.append([large])).rejects.toThrow(/full/)
  expect(store.whyNotReady()).toBeNull()
  store.database.exec('PRAGMA max_page_count = 100000')
  await store.append([large])
  expect(seqs(store)).toHaveLength(3)
})

test.runIf(process.platform !== 'win32')('the file and its log can only be read by their owner', async () => {
  const path = newDatabaseFile()
  writeFileSync(path, '')
  chmodSync(path, 0o644)
  const store = open({ path })

  await store.append([newEvent()])

  for (const end of ['', '-wal']) expect(statSync(`${path}${end}`).mode & 0o777).toBe(0o600)
})

test('a file of another program is refused and left as it is', () => {
  const path = newDatabaseFile()
  const other = new Database(path)
  other.exec('CREATE TABLE todo (what TEXT); PRAGMA application_id = 7')
  other.close()
  const before = readFileSync(path)

  expect(() => open({ path })).toThrow(ConfigError)
  expect(() => open({ path })).toThrow(/was not touched: it is the database of another program/)
  expect(readFileSync(path).equals(before)).toBe(true)

  writeFileSync(path, 'name,price\ntea,3\n'.repeat(20))
  expect(() => open({ path })).toThrow(/it is not a database/)
})

test.each([
  ['file:events.db', /expected the path of a file/],
  ['postgres://ada:pw@db/x', /expected the path of a file/],
  [' ', /expected the path of a file/],
  ['/no/such/folder/x.db', /cannot be opened \(.*its folder does not exist/],
])('the store %j is refused', async (store, message) => {
  await expect(openCollector({ store })).rejects.toThrow(message)
})

test('a second collector that opens the file gets a sentence, until the first has closed it', async () => {
  const path = newDatabaseFile()
  const first = await openCollector({ store: path })

  await expect(openCollector({ store: path })).rejects.toThrow(/another process has it open/)

  await post(first, '/v1/track', track({ messageId: 'kept' }))
  await first.close()
  const second = await openCollector({ store: path })
  expect(second.events().map(({ messageId }) => messageId)).toEqual(['kept'])
})

test('bytes that are not UTF-8 break nothing that is read', async () => {
  const path = newDatabaseFile()
  const first = await openCollector({ store: path })
  await post(first, '/v1/track', track({ messageId: 'broken' }))
  await post(first, '/v1/track', track({ messageId: 'whole' }))
  await first.close()
  const database = new Database(path)
  for (const column of ['source', 'name', 'userId', 'person', 'body', 'sent', 'violations', 'warnings'])
    database.exec(`UPDATE event SET ${column} = CAST(x'ff41c328ff' AS TEXT) WHERE seq = 1`)
  for (const column of ['path', 'headers', 'problem', 'body', 'answer'])
    database.exec(`UPDATE request SET ${column} = CAST(x'ff7b' AS TEXT) WHERE id = 1`)
  database.close()

  const collector = await openCollector({ store: path })

  const paths = ['events', 'events?view=summary', 'events?q=properties.total>1', 'events?q=word', 'users?q=a']
  paths.push('events/1', 'requests', 'requests/1', 'users', 'catalogue', 'catalogue?format=schema', 'export')
  paths.push('overview', 'problems', 'export/requests')
  for (const one of paths) {
    const response = await fetch(`${collector.url}/api/${one}`)
    await response.text()
    expect([one, response.status]).toEqual([one, 200])
  }
  expect(collector.events().map(({ messageId }) => messageId)).toEqual(['broken', 'whole'])
})

test('a damaged file is named in /readyz, with what to do', async () => {
  const path = newDatabaseFile()
  const first = await openCollector({ store: path })
  for (let sent = 0; sent < 40; sent++)
    await post(first, '/v1/track', track({ properties: { pad: 'x'.repeat(9000) } }))
  await first.close()
  const bytes = readFileSync(path)
  // All but the first pages, which have the schema.
  bytes.fill(0xee, 120_000)
  writeFileSync(path, bytes)

  const said = await openCollector({ store: path }).then(
    async (collector) => {
      await fetch(`${collector.url}/api/events?q=word`)
      return (await fetch(`${collector.url}/readyz`)).text()
    },
    (cause: Error) => cause.message,
  )

  expect(said).toMatch(/the file is damaged: stop the collector and move the file away/)
})

test('sequence numbers go on after everything was deleted, and after a restart', async () => {
  const path = newDatabaseFile()
  const first = new Store({ path, clock: fakeClock(), onFault: () => {} })
  await first.append([newEvent(), newEvent()])
  const { epoch } = first.changes.state
  first.clear()
  first.close()

  const store = open({ path })
  const [next] = await store.append([newEvent()])

  expect(next?.seq).toBe(3)
  expect(store.changes.state.epoch).toBe(epoch + 1)
})

test('deleted events are subtracted from the totals, and their deliveries go too', async () => {
  const store = open()
  await store.append([newEvent({ deliveries: [{ destination: 'Hook' }] }), newEvent()])

  expect(store.delete(['1', '9', 'x'])).toBe(1)

  expect(store.totals.accepted).toBe(1)
  expect(store.deliveries.due('Hook', 9)).toEqual([])
})
