import { FAILURE_CODES, type FailureCode } from '../errors/errors.ts'

/**
 * Where every event of a client stands. `accepted = delivered + failed + deferred + pending` at every instant; without a
 * spool, `deferred` and `recovered` are 0.
 */
export interface Stats {
  /** Calls taken, invalid ones included, and events recovered. */
  readonly accepted: number
  /** Events that the service has accepted. */
  readonly delivered: number
  /** Events that will not be delivered; each was reported. */
  readonly failed: number
  /** Events left in the spool, for the next start. */
  readonly deferred: number
  /** Calls without an outcome yet. */
  readonly pending: number
  /** Events that an earlier process had left in the spool, as far as they were read. */
  readonly recovered: number
  /** Failed events by reason; the values add up to `failed`. */
  readonly failures: Readonly<Record<FailureCode, number>>
}

/** What came of the events that a `flush()` waited for. */
export interface FlushSummary {
  /** Events that the service has accepted. */
  readonly delivered: number
  /** Events that will not be delivered; each was reported. */
  readonly failed: number
  /** Events without an outcome when the flush timed out; otherwise 0. */
  readonly pending: number
  /** Events left in the spool, for the next start. Absent when there are none. */
  readonly deferred?: number
}

/** The events accepted between two flushes. */
export interface Epoch {
  pending: number
  delivered: number
  failed: number
  deferred: number
  /** Plugin work that outlives the outcome of its event. */
  work: number
  /** A flush covers this epoch: no event joins it any more. */
  isSealed: boolean
  /** Called once this epoch and all before it are done. */
  readonly waiters: (() => void)[]
  /** Called once this epoch is done. */
  readonly ownWaiters: (() => void)[]
  /** The totals of this epoch and all before it, once they are done. */
  totals: Totals | undefined
  next: Epoch | undefined
}

interface Totals {
  readonly delivered: number
  readonly failed: number
  readonly deferred: number
}

/** A wait for everything accepted so far. */
export interface Barrier {
  /** Calls `run` once everything covered has its outcome; immediately if it already has. */
  onceReached(run: () => void): void
  summary(): FlushSummary
}

/**
 * Keeps account of every event. An event joins an epoch when it is accepted and leaves it with its outcome;
 * a flush seals the epoch and waits for it and all before it, so that overlapping flushes cost nothing per event, and a
 * flush costs the same however many others are open.
 *
 * @see docs/spec.md, section 6
 */
export class Ledger {
  #accepted = 0
  #delivered = 0
  #failed = 0
  #deferred = 0
  #recovered = 0
  readonly #failures = Object.fromEntries(FAILURE_CODES.map((code) => [code, 0])) as Record<
    FailureCode,
    number
  >
  #current = createEpoch()
  #oldest = this.#current
  /** The epoch before the current one. */
  #lastSealed: Epoch | undefined
  /** What came of all epochs that are done. */
  #done: Totals = { delivered: 0, failed: 0, deferred: 0 }

  get pending(): number {
    return this.#accepted - this.#delivered - this.#failed - this.#deferred
  }

  /** Counts one call and returns the epoch that it belongs to. */
  accept(): Epoch {
    this.#accepted++
    this.#current.pending++
    return this.#current
  }

  /** Counts one event that an earlier process has left. */
  recover(): Epoch {
    this.#recovered++
    return this.accept()
  }

  /** Counts the outcome of one accepted event: failed with `code`, or deferred; delivered without. */
  settle(epoch: Epoch, code: FailureCode | 'deferred' | undefined): void {
    epoch.pending--
    if (code === undefined) {
      this.#delivered++
      epoch.delivered++
    } else if (code === 'deferred') {
      this.#deferred++
      epoch.deferred++
    } else {
      this.#failed++
      this.#failures[code]++
      epoch.failed++
    }
    this.#endIfDone(epoch)
  }

  beginWork(epoch: Epoch): void {
    epoch.work++
  }

  endWork(epoch: Epoch): void {
    epoch.work--
    this.#endIfDone(epoch)
  }

  /** The epoch of the next call. */
  get epoch(): Epoch {
    return this.#current
  }

  /** Seals what was accepted so far; takes constant time. `undefined` when all of it is done. */
  barrier(): Barrier | undefined {
    const current = this.#current
    if (isOpen(current)) this.#seal(current)
    else if (current === this.#oldest) return undefined
    const last = this.#lastSealed as Epoch
    // Everything accepted so far is covered, but for what is in the current epoch and has its outcome.
    const later = this.#current
    const before = {
      delivered: this.#delivered - later.delivered,
      failed: this.#failed - later.failed,
      deferred: this.#deferred - later.deferred,
    }
    return {
      onceReached(run) {
        if (last.totals === undefined) last.waiters.push(run)
        else run()
      },
      summary: () => {
        const { delivered, failed, deferred, pending } = this.#upTo(last)
        return {
          delivered: delivered - before.delivered,
          failed: failed - before.failed,
          pending,
          ...(deferred > before.deferred && { deferred: deferred - before.deferred }),
        }
      },
    }
  }

  /** Calls `run` when what was accepted since the last flush has its outcome, whatever came before; maybe at once. */
  onceSettled(run: () => void): void {
    const current = this.#current
    if (!isOpen(current)) return run()
    current.ownWaiters.push(run)
    this.#seal(current)
  }

  stats(): Stats {
    return {
      accepted: this.#accepted,
      delivered: this.#delivered,
      failed: this.#failed,
      deferred: this.#deferred,
      pending: this.pending,
      recovered: this.#recovered,
      failures: { ...this.#failures },
    }
  }

  #seal(current: Epoch): void {
    current.isSealed = true
    this.#current = createEpoch()
    current.next = this.#current
    this.#lastSealed = current
  }

  #endIfDone(epoch: Epoch): void {
    if (!isDone(epoch)) return
    for (const run of epoch.ownWaiters.splice(0)) run()
    this.#advance()
  }

  /** Epochs end in order: one that is done early waits for the epochs before it. */
  #advance(): void {
    while (isDone(this.#oldest)) {
      const { delivered, failed, deferred, waiters, next } = this.#oldest
      this.#done = {
        delivered: this.#done.delivered + delivered,
        failed: this.#done.failed + failed,
        deferred: this.#done.deferred + deferred,
      }
      this.#oldest.totals = this.#done
      this.#oldest = next as Epoch
      for (const run of waiters.splice(0)) run()
    }
  }

  /** What came of `last` and all epochs before it. Walks the open ones only when `last` is among them. */
  #upTo(last: Epoch): Totals & { readonly pending: number } {
    if (last.totals !== undefined) return { ...last.totals, pending: 0 }
    const sum = { ...this.#done, pending: 0 }
    for (let epoch: Epoch | undefined = this.#oldest; epoch !== last.next; epoch = epoch?.next) {
      sum.delivered += epoch?.delivered ?? 0
      sum.failed += epoch?.failed ?? 0
      sum.deferred += epoch?.deferred ?? 0
      sum.pending += epoch?.pending ?? 0
    }
    return sum
  }
}

function createEpoch(): Epoch {
  return {
    pending: 0,
    delivered: 0,
    failed: 0,
    deferred: 0,
    work: 0,
    isSealed: false,
    waiters: [],
    ownWaiters: [],
    totals: undefined,
    next: undefined,
  }
}

function isOpen({ pending, work }: Epoch): boolean {
  return pending > 0 || work > 0
}

function isDone(epoch: Epoch): boolean {
  return epoch.isSealed && epoch.pending === 0 && epoch.work === 0
}
