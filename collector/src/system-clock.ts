import { setTimeout as setTimeoutPromise } from 'node:timers/promises'
import type { Clock } from './clock.ts'

/**
 * All code takes its times, timers and random numbers from a `Clock`, except for random identifiers, `AbortSignal.timeout` and
 * `holdFor`.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),
  setTimer(run, delayMs) {
    const timer = setTimeout(run, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** Resolves after `delayMs` of real time, or when the signal is aborted. Keeps the process alive until then. */
export function holdFor(delayMs: number, signal: AbortSignal): Promise<void> {
  return setTimeoutPromise(delayMs, undefined, { signal }).catch(() => {})
}
