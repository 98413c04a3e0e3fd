import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { MAX_TIMER_MS, systemClock } from '../../src/runtime/clock.ts'

describe('the real clock', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  test('a timer runs once, after its time', () => {
    const run = vi.fn()
    systemClock.setTimer(run, 50)

    vi.advanceTimersByTime(49)
    expect(run).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1_000)

    expect(run).toHaveBeenCalledTimes(1)
  })

  test('a cancelled timer does not run', () => {
    const run = vi.fn()
    const cancel = systemClock.setTimer(run, 50)

    cancel()
    vi.advanceTimersByTime(1_000)

    expect(run).not.toHaveBeenCalled()
  })

  test('a delay beyond what a timer takes is the longest that it takes, not none', () => {
    const run = vi.fn()
    systemClock.setTimer(run, Number.POSITIVE_INFINITY)

    vi.advanceTimersByTime(MAX_TIMER_MS - 1)

    expect(run).not.toHaveBeenCalled()
  })

  test('timers do not keep the process, holds do until they are released', () => {
    const cancel = systemClock.setTimer(() => {}, 50)
    const release = systemClock.hold()

    expect(vi.getTimerCount()).toBe(2)
    release()
    cancel()

    expect(vi.getTimerCount()).toBe(0)
  })

  test('both clocks are looked up at each call, so that patched ones count', () => {
    vi.setSystemTime('2026-11-20T09:30:00Z')
    const before = systemClock.monotonic()

    vi.advanceTimersByTime(1_000)

    expect(systemClock.now()).toBe(Date.parse('2026-11-20T09:30:01Z'))
    expect(systemClock.monotonic() - before).toBe(1_000)
  })

  test('chance is at least 0 and less than 1', () => {
    const draws = Array.from({ length: 1_000 }, () => systemClock.random())

    expect(Math.min(...draws)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...draws)).toBeLessThan(1)
  })
})
