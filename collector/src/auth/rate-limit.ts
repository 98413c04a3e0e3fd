import type { Clock } from '../clock.ts'
import type { RateLimits } from '../store/ports.ts'

const WINDOW_MS = 1000
const MAX_SOURCES = 10_000

/**
 * Counts the requests of this process by source in windows of one second, each beginning with its first request.
 *
 * A window rather than a bucket: in no second that the client can see is more than the rate accepted, and
 * the wait in the response is exact.
 */
export class RateLimit implements RateLimits {
  readonly #clock: Clock
  readonly #windows = new Map<string, { startMs: number; count: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async take(source: string, requestsPerSecond: number): Promise<number | undefined> {
    const nowMs = this.#clock.monotonic()
    const window = this.#windows.get(source)
    if (window === undefined || nowMs - window.startMs >= WINDOW_MS) {
      if (this.#windows.size >= MAX_SOURCES) this.#windows.clear()
      this.#windows.set(source, { startMs: nowMs, count: 1 })
      return undefined
    }
    if (window.count < requestsPerSecond) {
      window.count++
      return undefined
    }
    return window.startMs + WINDOW_MS - nowMs
  }
}
