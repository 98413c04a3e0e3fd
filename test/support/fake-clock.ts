import type { Clock } from '../../src/runtime/clock.ts'

interface Timer {
  readonly atMs: number
  readonly run: () => void
}

/** Runs everything that is ready: all microtasks, and the tasks queued after them. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Resolves after the client has noticed that the process has no more work. */
export function untilSeen(): Promise<void> {
  return new Promise((resolve) => void Promise.resolve().then(() => process.nextTick(resolve)))
}

/** A host whose time stands still until it is advanced, and whose chance is seeded. */
export class FakeClock implements Clock {
  /** Timers that were set and neither ran nor were cancelled, in the order in which they were set. */
  #timers: Timer[] = []
  #holds = 0
  #nowMs: number
  #monotonicMs = 0
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

  /** mulberry32: small, seeded, even enough for jitter. */
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

  /** Does what edge runtimes do at the end of a request. */
  forgetTimers(): void {
    this.#timers = []
  }

  /** How many timers are set. */
  get timerCount(): number {
    return this.#timers.length
  }

  /** How many things keep the process alive. */
  get holdCount(): number {
    return this.#holds
  }

  /** The wall clock jumps; the monotonic one, and the timers on it, do not notice. */
  jump(ms: number): void {
    this.#nowMs += ms
  }

  /** The event loop stands still for `ms`: time goes by, and no timer runs. */
  stall(ms: number): void {
    this.#nowMs += ms
    this.#monotonicMs += ms
  }

  /** Lets `ms` go by: runs the timers that fall due, each at its time, and lets everything settle in between. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#monotonicMs + ms
    await settled()
    for (;;) {
      const next = this.#nextDue(endMs)
      if (next === undefined) break
      this.#timers = this.#timers.filter((one) => one !== next)
      // A timer that was held up by a stall runs late, not in the past.
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
