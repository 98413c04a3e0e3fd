/** What differs between a running collector and a test of it. */
export interface Host {
  /** Milliseconds since the epoch. */
  now(): number
  /** Runs once after `delayMs`, without keeping the process alive; returns cancel. */
  setTimer(run: () => void, delayMs: number): () => void
}

/** The real clock and timers. */
export const systemHost: Host = {
  now: () => Date.now(),
  setTimer(run, delayMs) {
    const timer = setTimeout(run, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
