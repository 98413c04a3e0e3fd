import { setTimeout as sleep } from 'node:timers/promises'

/** Limits the lines to `rate` per second, in bursts of a tenth of a second. */
export class Pace {
  readonly #rate: number
  readonly #burst: number
  readonly #now: () => number
  #tokens: number
  #lastMs: number

  constructor(rate: number, now: () => number = () => performance.now()) {
    this.#rate = rate
    this.#burst = Math.max(1, rate / 10)
    this.#tokens = this.#burst
    this.#now = now
    this.#lastMs = now()
  }

  /** Returns how many milliseconds to wait before the line is sent. */
  take(): number {
    const nowMs = this.#now()
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#lastMs) * this.#rate) / 1_000)
    this.#lastMs = nowMs
    this.#tokens -= 1
    return this.#tokens >= 0 ? 0 : (-this.#tokens * 1_000) / this.#rate
  }
}

export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
