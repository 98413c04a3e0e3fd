import type { Batch } from './batch.ts'
import type { Holder } from './store.ts'

/** Batches that were sent and are to be sent again, in the order in which they were cut. */
export class Retries<Entry extends Holder> {
  readonly #batches: Batch<Entry>[] = []

  get size(): number {
    return this.#batches.length
  }

  get all(): readonly Batch<Entry>[] {
    return this.#batches
  }

  /** The oldest one. */
  get oldest(): Batch<Entry> | undefined {
    return this.#batches[0]
  }

  /** The one with the most retries left; of several, the oldest. */
  get freshest(): Batch<Entry> | undefined {
    let freshest = this.#batches[0]
    for (const batch of this.#batches) if (batch.retries < (freshest?.retries ?? 0)) freshest = batch
    return freshest
  }

  /** When the time of the next batch is over; infinite when none has a limit. */
  get nextExpiryMs(): number {
    let earliest = Number.POSITIVE_INFINITY
    for (const { expiresAtMs } of this.#batches) earliest = Math.min(earliest, expiresAtMs)
    return earliest
  }

  /** Adds a batch in its place. Does nothing when it is there. */
  add(batch: Batch<Entry>): void {
    const { sequence } = batch.origin
    let index = this.#batches.length
    while (index > 0 && (this.#batches[index - 1]?.origin.sequence ?? 0) >= sequence) index--
    if (this.#batches[index] !== batch) this.#batches.splice(index, 0, batch)
  }

  /** Takes a batch out. */
  remove(batch: Batch<Entry>): void {
    const index = this.#batches.indexOf(batch)
    if (index >= 0) this.#batches.splice(index, 1)
  }

  /** Takes one batch whose time is over. */
  takeExpired(nowMs: number): Batch<Entry> | undefined {
    const expired = this.#batches.find(({ expiresAtMs }) => expiresAtMs <= nowMs)
    if (expired !== undefined) this.remove(expired)
    return expired
  }

  takeAll(): Batch<Entry>[] {
    return this.#batches.splice(0)
  }
}
