import { expect, test } from 'vitest'
import { Deadline } from '../../src/core/deadline.ts'

const NEVER = Number.POSITIVE_INFINITY

test('an event waits from the first failure after it was ready, however many follow', () => {
  const deadline = new Deadline(10_000)
  expect([deadline.nextMs, deadline.expiredUpTo(1e9)]).toEqual([NEVER, 0])

  deadline.begin(5, 100)
  deadline.begin(5, 3_000)
  deadline.begin(4, 4_000)

  expect(deadline.nextMs).toBe(10_100)
  expect(deadline.expiredUpTo(10_099)).toBe(0)
  expect(deadline.expiredUpTo(10_100)).toBe(5)
  expect(deadline.nextMs).toBe(NEVER)
})

test('later events wait from the failure after them, and those that have expired do not begin again', () => {
  const deadline = new Deadline(10_000)
  deadline.begin(5, 0)
  deadline.begin(8, 4_000)

  expect(deadline.expiredUpTo(10_000)).toBe(5)
  expect(deadline.nextMs).toBe(14_000)
  deadline.begin(8, 12_000)
  expect(deadline.expiredUpTo(14_000)).toBe(8)
  deadline.begin(8, 15_000)
  expect(deadline.nextMs).toBe(NEVER)
  deadline.begin(9, 16_000)
  expect(deadline.nextMs).toBe(26_000)
})

test('waits that begin within a thousandth of the limit end together, with the first', () => {
  const deadline = new Deadline(10_000)
  deadline.begin(1, 0)
  deadline.begin(2, 9)
  deadline.begin(3, 10)

  expect(deadline.expiredUpTo(10_000)).toBe(2)
  expect(deadline.nextMs).toBe(10_010)
})

test('after the end of an outage, the same events may wait again', () => {
  const deadline = new Deadline(10_000)
  deadline.begin(5, 0)
  deadline.expiredUpTo(10_000)

  deadline.end()

  expect([deadline.nextMs, deadline.expiredUpTo(20_000)]).toEqual([NEVER, 0])
  deadline.begin(5, 20_000)
  expect(deadline.nextMs).toBe(30_000)
})
