import type { DeliveryError, FailureCode } from '../errors/errors.ts'
import { type Holder, totalBytes } from './store.ts'

/** The events of one request, from its first attempt to its outcome. */
export class Batch<Entry extends Holder> {
  /** Requests made, uncounted retries included. */
  attempts = 0
  /** Counted retries. */
  retries = 0
  /** The retry at once after a lost connection was used. */
  isFreeRetryUsed = false
  /** The credentials were renewed for this batch. */
  isRenewed = false
  isSettled = false
  /** Makes the error that the last response stands for. */
  failure: ((code: FailureCode) => DeliveryError) | undefined
  /** The monotonic moments at which a batch that keeps failing, or keeps being told to wait, is given up. */
  backoffUntilMs: number | undefined
  limitedUntilMs: number | undefined

  constructor(readonly entries: readonly Entry[]) {}

  /** When its time is over: the first failure, and the first wait, start a clock that later ones do not reset. */
  get expiresAtMs(): number {
    return Math.min(
      this.backoffUntilMs ?? Number.POSITIVE_INFINITY,
      this.limitedUntilMs ?? Number.POSITIVE_INFINITY,
    )
  }

  /** The messages and the commas between them. */
  get bytes(): number {
    return totalBytes(this.entries)
  }
}
