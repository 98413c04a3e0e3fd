import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
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

  test('a cancelled timer and a released hold leave no timer behind', () => {
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

describe('in a process of its own', () => {
  /** Runs a program with `systemClock` to its end. One that does not end by itself is killed and fails. */
  function run(program: string): string {
    const { outputFiles } = buildSync({
      stdin: {
        contents: `import { systemClock } from './clock.ts'\n${program}`,
        resolveDir: fileURLToPath(new URL('../../src/runtime', import.meta.url)),
      },
      bundle: true,
      format: 'esm',
      write: false,
    })
    const args = ['--input-type=module', '--eval', outputFiles[0]?.text ?? '']
    return execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000, killSignal: 'SIGKILL' })
  }

  test('a timer does not keep the process', () => {
    expect(run(`systemClock.setTimer(() => console.log('fired'), 3_600_000)`)).toBe('')
  })

  test('a hold keeps it until it is released', () => {
    // Without the hold the process would end before its one timer fires; without the release it would not end.
    const program = `
      const release = systemClock.hold()
      systemClock.setTimer(() => { console.log('fired'); release() }, 50)`

    expect(run(program)).toBe('fired\n')
  })
})
