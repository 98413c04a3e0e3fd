import { setTimeout as setTimeoutPromise } from 'node:timers/promises'

/** Time and chance: the only things that differ between a running collector and a test of it. */
export interface Clock {
  /** Milliseconds since the epoch. May jump. */
  now(): number
  /** Milliseconds since an arbitrary moment. Never goes back. */
  monotonic(): number
  /** A number in [0, 1). For faults on demand and waits, never for identifiers. */
  random(): number
  /** Runs once after `delayMs`, without keeping the process alive; returns cancel. */
  setTimer(run: () => void, delayMs: number): () => void
}

/**
 * The real clock. Apart from random identifiers, `AbortSignal.timeout` and `holdFor`, nothing else in the collector reads a
 * clock, sets a timer or draws a random number.
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

/**
 * Resolves after `delayMs`, without keeping the process alive.
 *
 * @param handOut Receives a function that ends the wait early.
 */
export function sleep(
  clock: Clock,
  delayMs: number,
  handOut: (wake: () => void) => void = () => {},
): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(resolve, delayMs)
    handOut(() => {
      cancel()
      resolve()
    })
  })
}

/** Resolves after `delayMs` of real time, or when the signal is aborted, and keeps the process alive until then. */
export function holdFor(delayMs: number, signal: AbortSignal): Promise<void> {
  return setTimeoutPromise(delayMs, undefined, { signal }).catch(() => {})
}
