import { expect, test } from 'vitest'
import { Turns } from '../src/http/turns.ts'
import { openCollector, post } from './support.ts'

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

test('work that does not fit into a turn waits for the next ones, in order', async () => {
  const turns = new Turns()
  let turn = 0
  const done: Array<[name: string, turn: number]> = []
  // Set before the first work comes, so that it counts each turn before the work of that turn is let in.
  const count = () => {
    turn++
    if (done.length < 4) setImmediate(count)
  }
  setImmediate(count)
  const work = async (name: string, bytes: number) => {
    await turns.enter(bytes)
    done.push([name, turn])
  }

  await Promise.all([work('a', 100_000), work('b', 100_000), work('c', 1_000_000), work('d', 1)])

  expect(done).toEqual([
    ['a', 0],
    ['b', 1],
    ['c', 1],
    ['d', 2],
  ])
})

test('while connections come in, work waits; but not for ever', async () => {
  const turns = new Turns()
  let isDone = false
  let accepting = 0
  const work = async () => {
    await turns.enter(1)
    isDone = true
  }
  turns.accepted()
  const working = work()

  for (; !isDone; accepting++) {
    turns.accepted()
    await nextTurn()
  }
  await working

  expect(accepting).toBeGreaterThan(100)
  expect(accepting).toBeLessThan(1000)
})

test('a batch of 250,001 numbers is one record for its rest, and others are answered meanwhile', async () => {
  const collector = await openCollector()
  const body = `{"batch":[${Array(250_001).fill(0).join(',')}]}`
  let answeredMeanwhile = 0
  let isOpen = true

  const large = post(collector, '/v1/batch', body).finally(() => {
    isOpen = false
  })
  while (isOpen) {
    await fetch(`${collector.url}/api/stats`).then((response) => response.arrayBuffer())
    if (isOpen) answeredMeanwhile++
  }

  expect((await large).status).toBe(200)
  expect(collector.count({ reason: 'bad_item' })).toBe(5000)
  expect(collector.events({ reason: 'too_many_items' })).toMatchObject([
    { type: 'batch', source: 'shop', message: { itemsNotRead: 245_001 } },
  ])
  expect(answeredMeanwhile).toBeGreaterThan(3)
})
