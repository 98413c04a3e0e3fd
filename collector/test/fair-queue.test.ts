import { expect, test } from 'vitest'
import { FairQueue } from '../src/fair-queue.ts'

/** Adds `a1` with a cost of 1 for sender `a`, and so on; returns the order in which all are taken. */
function orderOf(...added: Array<[item: string, cost: number]>): string {
  const queue = new FairQueue<string>()
  for (const [item, cost] of added) queue.add(item.charAt(0), cost, item)
  return Array.from(added, () => queue.take()).join(' ')
}

test('the work of one sender stays in order', () => {
  expect(orderOf(['a1', 5], ['a2', 1], ['a3', 3])).toBe('a1 a2 a3')
})

test('senders take turns by the cost of their work', () => {
  expect(orderOf(['a1', 10], ['a2', 10], ['a3', 10], ['b1', 4], ['b2', 4], ['b3', 4], ['b4', 4])).toBe(
    'a1 b1 b2 b3 a2 b4 a3',
  )
})

test('who comes later waits for the work that one has begun, not for all of it; who has waited gets no credit', () => {
  const queue = new FairQueue<string>()
  for (const item of ['a1', 'a2', 'a3', 'a4']) queue.add('a', 100, item)
  expect([queue.take(), queue.take(), queue.peek()]).toEqual(['a1', 'a2', 'a3'])

  queue.add('b', 100, 'b1')
  queue.add('b', 100, 'b2')

  expect([queue.take(), queue.take(), queue.take(), queue.take()]).toEqual(['b1', 'a3', 'b2', 'a4'])
  expect([queue.length, queue.peek(), queue.take()]).toEqual([0, undefined, undefined])
})

test('one who invents a sender for each item does not stop the clock: others have their share', () => {
  const queue = new FairQueue<string>()
  for (let sender = 0; sender < 10; sender++) queue.add(`invented ${sender}`, 100, 'invented')
  for (let item = 0; item < 50; item++) queue.add('a', 10, 'a')

  // Each invented item that is taken is followed by the next.
  const taken = Array.from({ length: 100 }, (_, step) => {
    const item = queue.take()
    if (item === 'invented') queue.add(`another ${step}`, 100, item)
    return item
  })

  // Eleven senders share.
  expect(taken.filter((item) => item === 'a').length).toBeGreaterThan(40)
})

test('10,000 items of 100 senders are each taken once', () => {
  const queue = new FairQueue<number>()
  for (let item = 0; item < 10_000; item++) queue.add(`sender ${item % 100}`, (item % 7) + 1, item)
  const taken = Array.from({ length: 10_000 }, () => queue.take() as number)

  expect(new Set(taken).size).toBe(10_000)
  expect(queue.length).toBe(0)
  // In each part of the order, each sender has his share.
  const of0 = taken.slice(0, 2_000).filter((item) => item % 100 === 0).length
  expect(of0).toBeGreaterThan(10)
  expect(of0).toBeLessThan(40)
})
