import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { MAX_TIMER_MS, SteadyClock, setDeadline, systemClock } from '../../src/runtime/clock.ts'
import { FakeClock } from '../support/fake-clock.ts'

describe('the real clock', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  test('a delay beyond the limit of timers becomes the longest possible delay, not zero', () => {
    const run = vi.fn()
    systemClock.setTimer(run, Number.POSITIVE_INFINITY)

    vi.advanceTimersByTime(MAX_TIMER_MS - 1)

    expect(run).not.toHaveBeenCalled()
  })
})

const START_MS = new FakeClock().monotonic()
const elapsedMs = (clock: SteadyClock): number => clock.monotonic() - START_MS

/** A `SteadyClock` around a clock whose time stands still, and whose timers fire when the test says so. */
function setUp() {
  const timers: (() => void)[] = []
  const below = new FakeClock()
  below.setTimer = (run) => {
    timers.push(run)
    return () => {}
  }
  return { below, clock: new SteadyClock(below), timers }
}

test('a timer that fires moves the clock to the time for which the timer was set', () => {
  const { below, clock, timers } = setUp()
  below.stall(100)
  const moments: number[] = []

  clock.setTimer(() => moments.push(elapsedMs(clock)), 700)
  clock.setTimer(() => moments.push(elapsedMs(clock)), 200)
  timers[0]?.()
  timers[1]?.()
  below.stall(50)

  // The second timer was due earlier than the first, but fires after it: the clock does not go back.
  expect(moments).toEqual([800, 800])
  expect(elapsedMs(clock)).toBe(850)
})

test('a timer whose delay is not a number does not stop the clock', () => {
  const { below, clock, timers } = setUp()

  clock.setTimer(() => {}, Number.NaN)
  timers[0]?.()
  below.stall(100)

  expect(elapsedMs(clock)).toBe(100)
})

test('when the wrapped clock goes back, a SteadyClock stands still', () => {
  const below = new FakeClock()
  const clock = new SteadyClock(below)
  below.stall(100)
  expect(elapsedMs(clock)).toBe(100)

  below.monotonic = () => 3

  expect(elapsedMs(clock)).toBe(100)
})

function startDeadline() {
  const clock = new FakeClock()
  const watched = { clock, runs: 0, cancel: () => {} }
  watched.cancel = setDeadline(() => watched.runs++, 5_000, clock)
  return watched
}

test('a deadline fires once, at its time', async () => {
  const watched = startDeadline()

  await watched.clock.advance(4_999)
  expect(watched.runs).toBe(0)
  await watched.clock.advance(1)
  await watched.clock.advance(60_000)

  expect(watched.runs).toBe(1)
})

// test/faults/README.md, row F18.
test('after a suspension of the process, a deadline is extended once, by a second', async () => {
  const watched = startDeadline()

  watched.clock.stall(6_001)
  await watched.clock.advance(0)
  watched.clock.stall(999)
  await watched.clock.advance(0)
  expect(watched.runs).toBe(0)
  watched.clock.stall(60_000)
  await watched.clock.advance(0)

  expect([watched.runs, watched.clock.timerCount]).toEqual([1, 0])
})

test('a cancelled deadline leaves no timer, even after a suspension', async () => {
  const watched = startDeadline()

  watched.cancel()
  expect(watched.clock.timerCount).toBe(0)
  const stalled = startDeadline()
  stalled.clock.stall(20_000)
  await stalled.clock.advance(0)
  stalled.cancel()

  expect([stalled.runs, stalled.clock.timerCount]).toEqual([0, 0])
})
