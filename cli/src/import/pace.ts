import { setTimeout as sleep } from 'node:timers/promises'

const BURST_MS = 100

/** Limits the lines to `rate` per second, in bursts of a tenth of a second. */
export class Pace {
  readonly #rate: number
  readonly #now: () => number
  /** When the next line is due. */
  #dueMs: number

  constructor(rate: number, now: () => number = () => performance.now()) {
    this.#rate = rate
    this.#now = now
    this.#dueMs = now() - BURST_MS
  }

  /** Returns how many milliseconds to wait before the line is sent. */
  take(): number {
    const nowMs = this.#now()
    const waitMs = Math.max(0, this.#dueMs - nowMs)
    this.#dueMs = Math.max(this.#dueMs, nowMs - BURST_MS) + 1_000 / this.#rate
    return waitMs
  }
}

export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
