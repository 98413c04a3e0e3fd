import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import { newEvent } from '../../src/conformance/new-event.ts'
import { parseSearch } from '../../src/search/parse.ts'
import { EVENT_VOCABULARY, EVERYTHING } from '../../src/search/syntax.ts'
import { Budget } from '../../src/store/budget.ts'
import { inNumbers } from '../../src/store/cursor.ts'
import type { QueryName, QueryParameters, QueryResult } from '../../src/store/event-reader.ts'
import { stepsOf } from '../../src/store/queries/index.ts'
import { type Query, raw } from '../../src/store/sql.ts'
import { dialectOf } from '../../src/store/sqlite/dialect.ts'
import { WorkerReader } from '../../src/store/sqlite/reader.ts'
import { executorOn, runInTurns, runNow } from '../../src/store/sqlite/steps.ts'
import { SyncStore } from '../../src/store/sqlite/sync-store.ts'
import { systemClock } from '../../src/system-clock.ts'
import { newDatabaseFile } from '../support/process.ts'
import { batchOf } from './batch-of.ts'

function openReader() {
  const path = newDatabaseFile()
  const store = new SyncStore({ path, durability: 'process', maxEvents: 1e9 })
  onTestFinished(() => store.close())
  store.commit(batchOf([newEvent('m1')]))
  const faults: string[] = []
  const reader = new WorkerReader({ path, plan: null }, Date.now, (what) => faults.push(what))
  onTestFinished(() => reader.close())
  return { reader, faults, path }
}

function niceOfThreads(): number[] {
  return readdirSync('/proc/self/task').map((id) => {
    const [, rest = ''] = readFileSync(`/proc/self/task/${id}/stat`, 'utf8').split(') ')
    return Number(rest.split(' ')[16])
  })
}

test.runIf(process.platform === 'linux')('only the thread for queries has a lower priority', async () => {
  const { reader } = openReader()
  const before = niceOfThreads().filter((nice) => nice === 10).length

  expect(await reader.ask('count', { search: EVERYTHING })).toMatchObject({ count: 1 })

  expect(niceOfThreads().filter((nice) => nice === 10)).toHaveLength(before + 1)
})

test('if the database is damaged, the fault says so, and so does the error of the query', async () => {
  const path = newDatabaseFile()
  writeFileSync(path, 'damaged '.repeat(1000))
  const causes: unknown[] = []
  const reader = new WorkerReader({ path, plan: null }, Date.now, (_, cause) => causes.push(cause))
  onTestFinished(() => reader.close())

  await expect(reader.ask('count', { search: EVERYTHING })).rejects.toThrow('file is not a database')

  expect(causes).toEqual([new Error('file is not a database')])
})

test('a thread that starts while the file is away creates no other one, and leaves the log of the file', async () => {
  const { reader, path } = openReader()
  renameSync(path, `${path}.away`)

  await expect(reader.ask('count', { search: EVERYTHING })).rejects.toThrow('no such file')

  expect([existsSync(path), statSync(`${path}-wal`).size > 0]).toEqual([false, true])
  renameSync(`${path}.away`, path)
  expect(await reader.ask('count', { search: EVERYTHING })).toMatchObject({ count: 1 })
})

test('the thread that answers queries ends by itself, not by force', async () => {
  const { reader, faults } = openReader()
  const started = new Promise<Worker>((resolve) => process.once('worker', resolve))
  await reader.ask('count', { search: EVERYTHING })
  const worker = await started
  const exitCode = new Promise((resolve) => worker.once('exit', resolve))

  await reader.close()

  expect(await exitCode).toBe(0)
  expect(faults).toEqual([])
  await expect(reader.ask('count', { search: EVERYTHING })).rejects.toThrow('closed')
})

test('a cancelled query gets no result, and the others do', async () => {
  const { reader } = openReader()
  const gone = new AbortController()
  const search = { search: EVERYTHING }
  const left = Array.from({ length: 3 }, () => reader.ask('count', search, gone.signal))
  const kept = reader.ask('count', search, new AbortController().signal)

  gone.abort(new Error('the client has gone'))

  const outcomes = await Promise.allSettled(left)
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.message)).toEqual(
    Array(3).fill('the client has gone'),
  )
  expect(await kept).toMatchObject({ count: 1 })
  await expect(reader.ask('count', search, gone.signal)).rejects.toThrow('the client has gone')
})

test('a running query can be cancelled between two of its statements', async () => {
  const gone = new AbortController()
  let pieces = 0
  function* endless(): Query<never> {
    for (;;) {
      pieces++
      if (pieces === 3) gone.abort(new Error('the client has gone'))
      yield raw('SELECT 1')
    }
  }

  await expect(runInTurns(endless(), () => [], gone.signal)).rejects.toThrow('the client has gone')

  expect(pieces).toBe(3)
})

function openStore(): SyncStore {
  const path = newDatabaseFile()
  const store = new SyncStore({ path, durability: 'process', maxEvents: 1e9 })
  onTestFinished(() => store.close())
  return store
}

/** Runs a query whose statements take 30 ms each. */
function askSlowly<N extends QueryName>(
  { database }: SyncStore,
  limitMs: number,
  name: N,
  parameters: QueryParameters<N>,
): QueryResult<N> {
  let nowMs = 0
  vi.spyOn(systemClock, 'monotonic').mockImplementation(() => nowMs)
  onTestFinished(() => void vi.restoreAllMocks())
  const execute = executorOn(database)
  const context = { dialect: dialectOf(database), nowMs: 0, plan: null, budget: new Budget(limitMs) }
  return runNow(stepsOf(context, name, inNumbers(parameters)), (statement) => {
    nowMs += 30
    return execute(statement)
  })
}

test('the first answer to a search comes after half of the time, and each further one uses all of it', () => {
  const store = openStore()
  store.commit(batchOf(Array.from({ length: 12_000 }, (_, n) => newEvent(`m${n}`))))
  const search = parseSearch('nowhere', EVENT_VOCABULARY)
  const ask = (limitMs: number, more: { cursor?: string } = {}) =>
    askSlowly(store, limitMs, 'events', { search, order: 'newest', limit: 200, isFull: false, ...more })
  const read = ({ next }: { next: string | null }) => inNumbers({ cursor: next ?? '' }).before ?? 0

  const first = ask(180)
  const second = ask(180, { cursor: first.next ?? '' })

  expect([first.isComplete, second.isComplete]).toEqual([false, false])
  expect(read(first) - read(second)).toBeGreaterThan(1.5 * (12_000 - read(first)))
})

test('the first 100 users have names and numbers of events, even if the time is used up', () => {
  const store = openStore()
  const people = Array.from({ length: 150 }, (_, n) => {
    const body = JSON.stringify({ type: 'identify', userId: `u${n}`, traits: { name: `Person ${n}` } })
    return newEvent(`m${n}`, { kind: 'identify', name: null, userId: `u${n}`, body })
  })
  store.commit(batchOf(people))
  const { users } = askSlowly(store, 0, 'users', { q: '', limit: 150 })

  expect(users).toHaveLength(150)
  expect(users.slice(0, 100).map(({ name, count }) => [name, count])).toEqual(
    Array.from({ length: 100 }, (_, n) => [`Person ${149 - n}`, 1]),
  )
})
