import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { MAX_TIMER_MS, systemHost, warn } from '../src/host.ts'

describe('the real host', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  test('a timer runs once, after its time', () => {
    const run = vi.fn()
    systemHost.setTimer(run, 50)

    vi.advanceTimersByTime(49)
    expect(run).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1_000)

    expect(run).toHaveBeenCalledTimes(1)
  })

  test('a cancelled timer does not run', () => {
    const run = vi.fn()
    const cancel = systemHost.setTimer(run, 50)

    cancel()
    vi.advanceTimersByTime(1_000)

    expect(run).not.toHaveBeenCalled()
  })

  test('a delay beyond what a timer takes is the longest that it takes, not none', () => {
    const run = vi.fn()
    systemHost.setTimer(run, Number.POSITIVE_INFINITY)

    vi.advanceTimersByTime(MAX_TIMER_MS - 1)

    expect(run).not.toHaveBeenCalled()
  })

  test('timers do not keep the process, holds do until they are released', () => {
    const cancel = systemHost.setTimer(() => {}, 50)
    const release = systemHost.hold()

    expect(vi.getTimerCount()).toBe(2)
    release()
    cancel()

    expect(vi.getTimerCount()).toBe(0)
  })

  test('both clocks are looked up at each call, so that patched ones count', () => {
    vi.setSystemTime('2026-11-20T09:30:00Z')
    const before = systemHost.monotonic()

    vi.advanceTimersByTime(1_000)

    expect(systemHost.now()).toBe(Date.parse('2026-11-20T09:30:01Z'))
    expect(systemHost.monotonic() - before).toBe(1_000)
  })

  test('chance is at least 0 and less than 1', () => {
    const draws = Array.from({ length: 1_000 }, () => systemHost.random())

    expect(Math.min(...draws)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...draws)).toBeLessThan(1)
  })
})

describe('warnings', () => {
  afterEach(() => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
    vi.resetModules()
  })

  test('they go to process.emitWarning with a type and a code', () => {
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})

    warn('queue_full', 'la file est pleine')

    expect(emitWarning).toHaveBeenCalledExactlyOnceWith('la file est pleine', {
      type: 'TrackpostWarning',
      code: 'TRACKPOST_QUEUE_FULL',
    })
  })

  test('without a process they go to console.warn', async () => {
    const consoleWarn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    vi.stubGlobal('process', undefined)
    vi.resetModules()
    const { warn } = await import('../src/host.ts')

    warn('queue_full', 'la file est pleine')

    expect(consoleWarn).toHaveBeenCalledExactlyOnceWith('trackpost: la file est pleine')
  })

  test('a channel that throws harms nobody', () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {
      throw new Error('non')
    })

    expect(() => warn('queue_full', 'la file est pleine')).not.toThrow()
  })
})
