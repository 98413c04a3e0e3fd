import type { Clock } from './clock.ts'

/** All code takes its times, timers and random numbers from a `Clock`, except for random identifiers and `AbortSignal.timeout`. */
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
