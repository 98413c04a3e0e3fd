import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Waiters, type WaitSource } from '../src/live/waiters.ts'
import type { EventRecord } from '../src/record.ts'
import { fakeClock } from './support.ts'

/** The test decides when the source responds. */
function openWaiters() {
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
    count: ({ after }, limit) => answered(`count ${after}`, limit === 1 ? 1 : 0),
    newest: async () => [],
  }
  const waiters = new Waiters(source, fakeClock())
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
  return { open, asked, answers, answerAll, grow }
}

test('at most four waits query at a time, the other waits queue, and all get their result', async () => {
  const { open, asked, answers, answerAll } = openWaiters()
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
  const { open, asked, answerAll, grow } = openWaiters()
  for (let after = 0; after < 6; after++) void open(after, 9)
  await nextTurn()

  for (let turn = 0; turn < 2; turn++) {
    grow()
    await answerAll()
  }

  expect(asked).toContain('count 5')
})
