import { expect, test } from 'vitest'
import { setDeadline } from '../../src/runtime/deadline.ts'
import { FakeClock } from '../support/fake-clock.ts'

/** A deadline of 5 s. */
function start() {
  const clock = new FakeClock()
  const watched = { clock, runs: 0, cancel: () => {} }
  watched.cancel = setDeadline(() => watched.runs++, 5_000, clock)
  return watched
}

test('a deadline comes once, at its time', async () => {
  const watched = start()

  await watched.clock.advance(4_999)
  expect(watched.runs).toBe(0)
  await watched.clock.advance(1)
  await watched.clock.advance(60_000)

  expect(watched.runs).toBe(1)
})

// Row F18.
test('a process that stood still has a second more, once', async () => {
  const watched = start()

  watched.clock.stall(6_001)
  await watched.clock.advance(0)
  watched.clock.stall(999)
  await watched.clock.advance(0)
  expect(watched.runs).toBe(0)
  watched.clock.stall(60_000)
  await watched.clock.advance(0)

  expect([watched.runs, watched.clock.timerCount]).toEqual([1, 0])
})

test('a timer that is late by no more than a second is none', async () => {
  const watched = start()

  watched.clock.stall(6_000)
  await watched.clock.advance(0)

  expect(watched.runs).toBe(1)
})

test('one that is cancelled leaves no timer, nor after a stall', async () => {
  const watched = start()

  watched.cancel()
  expect(watched.clock.timerCount).toBe(0)
  const stalled = start()
  stalled.clock.stall(20_000)
  await stalled.clock.advance(0)
  stalled.cancel()

  expect([stalled.runs, stalled.clock.timerCount]).toEqual([0, 0])
})
