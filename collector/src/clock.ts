/** The sources of time and randomness. Tests replace them. */
export interface Clock {
  /** Milliseconds since the Unix epoch. May jump when the clock of the machine is set. */
  now(): number
  /** Milliseconds since an arbitrary moment. Never goes back. */
  monotonic(): number
  /** A random number in [0, 1). For injected faults and waiting times, never for identifiers. */
  random(): number
  /** Calls `run` once after `delayMs`, without keeping the process alive. Returns a function that cancels the timer. */
  setTimer(run: () => void, delayMs: number): () => void
}
