import type { Batch } from './batch.ts'
import type { Holder } from './store.ts'

/** Batches that were sent and are to be sent again, the next one first. */
export class Retries<Entry extends Holder> {
  #batches: Batch<Entry>[] = []

  get size(): number {
    return this.#batches.length
  }

  /** Adds a batch whose turn comes after the others. */
  push(batch: Batch<Entry>): void {
    this.#batches.push(batch)
  }

  /** Adds a batch that goes first. */
  unshift(batch: Batch<Entry>): void {
    this.#batches.unshift(batch)
  }

  shift(): Batch<Entry> | undefined {
    return this.#batches.shift()
  }

  /** Takes the batch with the most retries left. */
  takeFreshest(): Batch<Entry> | undefined {
    const [first, ...others] = this.#batches
    if (first === undefined) return undefined
    const freshest = others.reduce((best, batch) => (batch.retries < best.retries ? batch : best), first)
    this.#remove(freshest)
    return freshest
  }

  /** Takes one batch whose time is over. */
  takeExpired(nowMs: number): Batch<Entry> | undefined {
    const expired = this.#batches.find(({ expiresAtMs }) => expiresAtMs <= nowMs)
    if (expired !== undefined) this.#remove(expired)
    return expired
  }

  takeAll(): Batch<Entry>[] {
    return this.#batches.splice(0)
  }

  /** When the time of the next batch is over; infinite when none has a limit. */
  get nextExpiryMs(): number {
    return this.#batches.reduce(
      (earliest, batch) => Math.min(earliest, batch.expiresAtMs),
      Number.POSITIVE_INFINITY,
    )
  }

  #remove(batch: Batch<Entry>): void {
    this.#batches.splice(this.#batches.indexOf(batch), 1)
  }
}
