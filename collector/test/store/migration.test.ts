import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { expect, onTestFinished, test } from 'vitest'
import { SyncStore } from '../../src/store/sqlite/sync-store.ts'
import { batchOf, newEvent } from './new-event.ts'

/** The tables as version 1 made them. */
const VERSION_1 = `
CREATE TABLE source (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE event (
  seq INTEGER PRIMARY KEY, source_id INTEGER NOT NULL, status INTEGER NOT NULL, reason TEXT, kind TEXT, name TEXT,
  user_id TEXT, anonymous_id TEXT, message_id TEXT, received_at INTEGER NOT NULL, timestamp INTEGER NOT NULL, body TEXT
);
CREATE TABLE seen (
  source_id INTEGER NOT NULL, message_id TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (source_id, message_id)
) WITHOUT ROWID;
CREATE TABLE delivery (
  seq INTEGER NOT NULL, destination TEXT NOT NULL, state TEXT NOT NULL, reason TEXT,
  attempts INTEGER NOT NULL DEFAULT 0, due_at INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (seq, destination)
) WITHOUT ROWID;
CREATE INDEX delivery_due ON delivery (destination, due_at, seq) WHERE state = 'pending';
CREATE TABLE assertion (jti TEXT PRIMARY KEY, expires_at INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO source VALUES (1, 'shop');
INSERT INTO event VALUES
  (7, 1, 1, NULL, 'track', 'Order', 'ada', NULL, 'm1', 1000000, 1000000, '{"messageId":"m1","event":"Order"}'),
  (8, 1, 0, 'duplicate', 'track', 'Order', 'ada', NULL, 'm1', 1000500, 1000500, '{"messageId":"m1","event":"Order"}'),
  (9, 1, 1, NULL, 'identify', NULL, 'ada', 'anon', 'm2', 2000000, 2000000, '{"messageId":"m2"}');
INSERT INTO seen VALUES (1, 'm1', 7, 1000000), (1, 'm2', 9, 2000000);
INSERT INTO delivery VALUES (7, 'Hook', 'failed', 'answered 404', 3, 0), (9, 'Hook', 'pending', NULL, 1, 5);
INSERT INTO assertion VALUES ('j1', 99);
PRAGMA user_version = 1;
`

function newPath(): string {
  return join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'events.db')
}

function openStore(path: string): SyncStore {
  const store = new SyncStore({ path, durability: 'process', maxEvents: 1000, now: () => 3_000_000 })
  onTestFinished(() => store.close())
  return store
}

function oldFile(): string {
  const path = newPath()
  const old = new Database(path)
  old.exec(VERSION_1)
  old.close()
  return path
}

test('a file of version 1 is brought forward: events, memory of ids, deliveries and counts', async () => {
  const store = openStore(oldFile())

  expect(store.events({ q: 'user:ada' }).map(({ seq, reason }) => [seq, reason])).toEqual([
    [7, null],
    [8, 'duplicate'],
    [9, null],
  ])
  expect(store.events({ q: 'destination:Hook delivery:failed' })).toMatchObject([{ seq: 7 }])
  expect(store.totals().events).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ source: 'shop', kind: 'track', reason: '', count: 1 }),
      expect.objectContaining({ source: 'shop', kind: 'track', reason: 'duplicate', count: 1 }),
      expect.objectContaining({ source: 'shop', kind: 'identify', reason: '', count: 1 }),
    ]),
  )
  expect(
    store.commit(batchOf([newEvent('m1'), newEvent('m3')])).map(({ seq, reason }) => [seq, reason]),
  ).toEqual([
    [10, 'dedup_conflict'],
    [11, null],
  ])
  expect(await store.outbox.claim('Hook', 10, 1000)).toMatchObject([{ eventId: '9', attempts: 1 }])
  expect(await store.assertions.use('j1', 99, 50)).toBe(false)
})

test('a file that was brought forward has the tables and indexes of a new one', () => {
  const layout = (path: string) => {
    openStore(path)
    const reader = new Database(path)
    onTestFinished(() => {
      reader.close()
    })
    const names = reader
      .prepare("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite%' ORDER BY name")
      .all()
    return (names as Array<{ type: string; name: string }>).map(({ type, name }) => ({
      name,
      columns:
        type === 'table'
          ? (reader.prepare(`PRAGMA table_info(${name})`).all() as Array<{ name: string }>).map(
              (one) => one.name,
            )
          : [],
    }))
  }

  expect(layout(oldFile())).toEqual(layout(newPath()))
})

test('two that open an old file at the same moment both work on it', () => {
  const path = oldFile()
  const [first, second] = [openStore(path), openStore(path)]

  expect(first.opening).not.toBe(second.opening)
  first.commit(batchOf([newEvent('x')]))
  second.commit(batchOf([newEvent('y')]))
  expect(first.count()).toBe(5)
})
