/** The clocks and timers of a collector: the only thing that differs between a running one and a test of it. */
export interface Clock {
  /** Milliseconds since the epoch. May jump. */
  now(): number
  /** Milliseconds since an arbitrary moment. Never goes back. */
  monotonic(): number
  /** Runs once after `delayMs`, without keeping the process alive; returns cancel. */
  setTimer(run: () => void, delayMs: number): () => void
}

/** The real clocks and timers; nothing else in the collector reads a clock or sets a timer. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(run, delayMs) {
    const timer = setTimeout(run, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
