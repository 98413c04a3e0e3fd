import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Waiters, type WaitSource } from '../src/live/waiters.ts'
import type { EventRecord } from '../src/record.ts'
import type { Cursor } from '../src/store/ports.ts'
import { fakeClock } from './support.ts'

/** Each record has a sequence number. */
function openOver(records: Set<number>, waitSource: Partial<WaitSource> = {}) {
  const state = { lastSeq: Math.max(0, ...records), revision: 0 }
  const source: WaitSource = {
    lastSeq: () => state.lastSeq,
    revision: () => state.revision,
    find: async () => ({ records: [...records].map((seq) => ({ seq }) as EventRecord), next: null }),
    count: async ({ between }) => {
      const { afterSeq = 0, beforeSeq = 0 } = between ?? {}
      const count = [...records].filter((seq) => seq > afterSeq && seq < beforeSeq).length
      return { count, isComplete: true, next: null }
    },
    newest: async () => [],
    ...waitSource,
  }
  const clock = fakeClock()
  const waiters = new Waiters(source, clock)
  onTestFinished(() => waiters.close())
  const add = (seq: number) => {
    records.add(seq)
    state.lastSeq = seq
  }
  return { waiters, clock, state, add }
}

test('a record that another process has written after it deleted all events counts, even if both are noticed at once', async () => {
  const records = new Set([1])
  const { waiters, add } = openOver(records)
  const wait = waiters.wait({ count: 2 })
  await nextTurn()

  records.clear()
  add(2)
  waiters.cleared()
  await nextTurn()
  add(3)
  waiters.news()

  expect((await wait).map(({ seq }) => seq)).toEqual([2, 3])
})

test('records that were deleted during a wait do not count', async () => {
  const records = new Set([1])
  const { waiters, state, add } = openOver(records)
  const wait = waiters.wait({ count: 2 })
  await nextTurn()

  records.delete(1)
  state.revision++
  for (const seq of [2, 3]) {
    add(seq)
    waiters.news()
    await nextTurn()
  }

  expect((await wait).map(({ seq }) => seq)).toEqual([2, 3])
})

test('a wait ends a second after its timeout if the store does not respond', async () => {
  const silent = () => new Promise<never>(() => {})
  const { waiters, clock } = openOver(new Set([1]), { count: silent, newest: silent })
  const wait = waiters.wait({ timeout: 2000 })
  wait.catch(() => {})

  for (const ms of [2000, 250, 1000]) {
    clock.advance(ms)
    await nextTurn()
  }

  await expect(wait).rejects.toThrow('; the store does not respond')
})

test('a wait that is asked for after the close, or by a client that has gone, ends at once', async () => {
  const { waiters } = openOver(new Set())
  await expect(waiters.waitInPages({}, AbortSignal.abort())).rejects.toThrow('closed')

  waiters.close()

  await expect(waiters.wait({})).rejects.toThrow('closed')
})

/** The test decides when the source responds. */
function openWaiters(found: number, next: Cursor | null = null) {
  let lastSeq = 1
  const asked: string[] = []
  const answers: Array<() => void> = []
  const answered = (what: string, value: unknown) =>
    new Promise<never>((resolve) => {
      asked.push(what)
      answers.push(() => resolve(value as never))
    })
  const source: WaitSource = {
    lastSeq: () => lastSeq,
    revision: () => 0,
    find: () => answered('find', { records: [{} as EventRecord], next: null }),
    count: ({ after }) => answered(`count ${after}`, { count: found, isComplete: next === null, next }),
    newest: async () => [],
  }
  const clock = fakeClock()
  const waiters = new Waiters(source, clock)
  onTestFinished(() => waiters.close())
  const answerAll = async () => {
    for (const answer of answers.splice(0)) answer()
    await nextTurn()
  }
  const open = (after: number, count: number) => {
    const wait = waiters.wait({ after, count })
    wait.catch(() => {})
    return wait
  }
  const grow = () => {
    lastSeq++
    waiters.news()
  }
  return { open, asked, answers, answerAll, grow, clock }
}

test('at most four waits query at a time, the other waits queue, and all get their result', async () => {
  const { open, asked, answers, answerAll } = openWaiters(1)
  const waits = Array.from({ length: 50 }, (_, index) => open(index, 1))
  await nextTurn()
  expect(asked).toEqual(['count 0', 'count 1', 'count 2', 'count 3'])

  let most = 0
  while (answers.length > 0) {
    most = Math.max(most, answers.length)
    await answerAll()
  }
  expect(await Promise.all(waits)).toHaveLength(50)
  expect(most).toBe(4)
})

test('after its query, a wait goes to the end of the queue, even if new events arrive', async () => {
  const { open, asked, answerAll, grow } = openWaiters(0)
  for (let after = 0; after < 6; after++) void open(after, 9)
  await nextTurn()

  for (let turn = 0; turn < 2; turn++) {
    grow()
    await answerAll()
  }

  expect(asked).toContain('count 5')
})

test('F158: a wait whose search is slow has its turn beside others, and ends 250 ms after its timeout', async () => {
  const { open, asked, answerAll, clock } = openWaiters(0, 'next' as Cursor)
  const waits = Array.from({ length: 6 }, (_, after) => open(after, 1))
  await nextTurn()
  await answerAll()
  await answerAll()
  expect(asked.slice(0, 6).sort()).toEqual([0, 1, 2, 3, 4, 5].map((after) => `count ${after}`))

  clock.advance(5000)
  await nextTurn()
  clock.advance(250)

  for (const wait of waits)
    await expect(wait).rejects.toThrow('found 0 in a part of the events, because the search is slow')
})
