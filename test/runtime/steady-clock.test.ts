import { expect, test } from 'vitest'
import { MAX_TIMER_MS } from '../../src/runtime/clock.ts'
import { SteadyClock } from '../../src/runtime/steady-clock.ts'
import { FakeClock } from '../support/fake-clock.ts'

/** A clock whose timers fire when the test says so, while its time stands still. */
function setUp() {
  const timers: (() => void)[] = []
  const below = new FakeClock()
  below.setTimer = (run) => {
    timers.push(run)
    return () => {}
  }
  return { below, clock: new SteadyClock(below), timers }
}

test('a timer that fires moves it to the moment that the timer was set for', () => {
  const { below, clock, timers } = setUp()
  below.stall(100)
  const moments: number[] = []

  clock.setTimer(() => moments.push(clock.monotonic()), 700)
  clock.setTimer(() => moments.push(clock.monotonic()), 200)
  timers[0]?.()
  timers[1]?.()
  below.stall(50)

  // The second one was due before: nothing goes back.
  expect(moments).toEqual([800, 800])
  expect(clock.monotonic()).toBe(850)
})

test('where time goes by, timers change nothing', async () => {
  const below = new FakeClock()
  const clock = new SteadyClock(below)
  clock.setTimer(() => {}, 300)

  await below.advance(1_000)

  expect(clock.monotonic()).toBe(1_000)
  expect(clock.now()).toBe(below.now())
})

test('a timer that fires at the longest delay there is moves it by that', () => {
  const { clock, timers } = setUp()

  clock.setTimer(() => {}, 1e15)
  timers[0]?.()

  expect(clock.monotonic()).toBe(MAX_TIMER_MS)
})

test.each([
  [
    'throws',
    () => {
      throw new Error('kaputt')
    },
  ],
  ['is not a number', () => Number.NaN],
  ['goes back', () => 3],
])('while the clock below %s, it stands still', (_label, monotonic: () => number) => {
  const below = new FakeClock()
  const clock = new SteadyClock(below)
  below.stall(100)
  expect(clock.monotonic()).toBe(100)

  below.monotonic = monotonic

  expect(clock.monotonic()).toBe(100)
})

test.each([
  [
    'throws',
    () => {
      throw new Error('kaputt')
    },
  ],
  ['is not a number', () => Number.NaN],
  ['is out of range', () => 7],
  ['is 1', () => 1],
])('chance that %s is even', (_label, random: () => number) => {
  const below = new FakeClock()
  below.random = random

  expect(new SteadyClock(below).random()).toBe(0.5)
})

test('chance in range is passed on', () => {
  const below = new FakeClock()
  below.random = () => 0.25

  expect(new SteadyClock(below).random()).toBe(0.25)
})

test('holds are those of the clock below', () => {
  const below = new FakeClock()

  const release = new SteadyClock(below).hold()
  expect(below.holdCount).toBe(1)
  release()

  expect(below.holdCount).toBe(0)
})
