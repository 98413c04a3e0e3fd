import type { Clock } from '../../src/runtime/clock.ts'

interface Timer {
  readonly atMs: number
  readonly run: () => void
}

/** Resolves with the next `setImmediate`, after all pending microtasks have run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

const START_MS = 86_400_000

/** A clock that stands still until the test advances it, with seeded random numbers. */
export class FakeClock implements Clock {
  /** Timers that have neither fired nor been cancelled, in the order in which they were set. */
  #timers: Timer[] = []
  #holds = 0
  #nowMs: number
  /** Does not begin at zero, since only differences of monotonic times have a meaning. */
  #monotonicMs = START_MS
  #seed: number

  constructor(now = '2026-11-20T09:30:00.000Z', seed = 1) {
    this.#nowMs = Date.parse(now)
    this.#seed = seed
  }

  now(): number {
    return this.#nowMs
  }

  monotonic(): number {
    return this.#monotonicMs
  }

  /** Random numbers in [0, 1), from the seed (mulberry32). */
  random(): number {
    this.#seed = (this.#seed + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#seed ^ (this.#seed >>> 15), 1 | this.#seed)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  setTimer(run: () => void, ms: number): () => void {
    if (!(ms >= 0)) throw new RangeError(`a timer of ${ms} ms`)
    const timer = { atMs: this.#monotonicMs + ms, run }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer)
    }
  }

  hold(): () => void {
    this.#holds++
    let isHeld = true
    return () => {
      if (isHeld) this.#holds--
      isHeld = false
    }
  }

  /** Milliseconds since this clock was made. */
  get elapsedMs(): number {
    return this.#monotonicMs - START_MS
  }

  get timerCount(): number {
    return this.#timers.length
  }

  get holdCount(): number {
    return this.#holds
  }

  /** Makes the wall clock jump. The monotonic clock and the timers are not affected. */
  jump(ms: number): void {
    this.#nowMs += ms
  }

  /** Blocks the event loop for `ms`: time passes, and no timer fires. */
  stall(ms: number): void {
    this.#nowMs += ms
    this.#monotonicMs += ms
  }

  /** Lets `ms` pass. Fires each timer at its time, and lets promises settle before the next timer fires. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#monotonicMs + ms
    await settled()
    for (;;) {
      const next = this.#nextDue(endMs)
      if (next === undefined) break
      this.#timers = this.#timers.filter((one) => one !== next)
      // If `stall` has moved the time past a timer, the timer fires now: time does not go back.
      this.stall(Math.max(0, next.atMs - this.#monotonicMs))
      next.run()
      await settled()
    }
    this.stall(Math.max(0, endMs - this.#monotonicMs))
  }

  #nextDue(endMs: number): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.atMs <= endMs && (next === undefined || timer.atMs < next.atMs)) next = timer
    }
    return next
  }
}
