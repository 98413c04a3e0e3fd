import type { Clock } from '../clock.ts'
import type { RateLimits } from '../store/ports.ts'

const WINDOW_MS = 1000
const MAX_SOURCES = 10_000

/**
 * Limits the requests of each source in this process, in a sliding window: no interval of one second has more requests than the
 * rate allows, and the returned wait is exact.
 */
export class RateLimit implements RateLimits {
  readonly #clock: Clock
  readonly #windows = new Map<string, Window>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async take(source: string, requestsPerSecond: number): Promise<number | undefined> {
    let window = this.#windows.get(source)
    if (window === undefined) {
      if (this.#windows.size >= MAX_SOURCES) this.#windows.clear()
      window = new Window()
      this.#windows.set(source, window)
    }
    return window.take(this.#clock.monotonic(), requestsPerSecond)
  }
}

class Window {
  #times: number[] = []
  #first = 0

  take(nowMs: number, rate: number): number | undefined {
    while ((this.#times[this.#first] ?? nowMs) <= nowMs - WINDOW_MS) this.#first++
    // Old times are removed only when they are more than half of all, so that the cost of each request stays small.
    if (this.#first * 2 > this.#times.length) {
      this.#times = this.#times.slice(this.#first)
      this.#first = 0
    }
    if (this.#times.length - this.#first < rate) {
      this.#times.push(nowMs)
      return undefined
    }
    return (this.#times[this.#first] as number) + WINDOW_MS - nowMs
  }
}
