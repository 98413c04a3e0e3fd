import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Waiters, type WaitSource } from '../src/live/waiters.ts'
import type { EventRecord } from '../src/record.ts'
import type { Cursor } from '../src/store/ports.ts'
import { fakeClock } from './support.ts'

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
