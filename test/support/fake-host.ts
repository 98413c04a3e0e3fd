import type { Host } from '../../src/host.ts'

interface FakeTimer {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
}

/** A host whose clock stands still until a test moves it, and whose chance repeats with its seed. */
export class FakeHost implements Host {
  /** How many holders keep the process alive. */
  holds = 0
  #elapsedMs = 0
  #timers: FakeTimer[] = []
  #order = 0
  #state: number
  readonly #epochMs: number

  constructor({ seed = 1, epochMs = Date.UTC(2026, 0, 15, 12) }: { seed?: number; epochMs?: number } = {}) {
    this.#state = seed
    this.#epochMs = epochMs
  }

  now(): number {
    return this.#epochMs + this.#elapsedMs
  }

  monotonic(): number {
    return this.#elapsedMs
  }

  /** mulberry32: small, and good enough for jitter. */
  random(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  setTimer(run: () => void, ms: number): () => void {
    const timer = { atMs: this.#elapsedMs + ms, order: this.#order++, run }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  hold(): () => void {
    this.holds++
    return () => {
      this.holds--
    }
  }

  /** Timers that have not run and were not cancelled. */
  get pendingTimers(): number {
    return this.#timers.length
  }

  /** Milliseconds until the next timer, or `undefined`. */
  get nextTimerMs(): number | undefined {
    const next = this.#next()
    return next === undefined ? undefined : next.atMs - this.#elapsedMs
  }

  /** Moves the clock, running each timer at its moment and all promise work behind it. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#elapsedMs + ms
    await settle()
    for (let next = this.#next(); next !== undefined && next.atMs <= untilMs; next = this.#next()) {
      const due = next
      this.#elapsedMs = Math.max(this.#elapsedMs, due.atMs)
      this.#timers = this.#timers.filter((timer) => timer !== due)
      due.run()
      await settle()
    }
    this.#elapsedMs = untilMs
  }

  /** Moves the clock without running anything in between, as a blocked event loop does. */
  stall(ms: number): void {
    this.#elapsedMs += ms
  }

  #next(): FakeTimer | undefined {
    let next: FakeTimer | undefined
    for (const timer of this.#timers) {
      if (next === undefined || timer.atMs < next.atMs || (timer.atMs === next.atMs && timer.order < next.order)) {
        next = timer
      }
    }
    return next
  }
}

/** Lets all promise work that is ready run, however long its chains are. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
