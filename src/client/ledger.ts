import { FAILURE_CODES, type FailureCode } from '../errors/errors.ts'

/** Where every event of a client stands. `accepted = delivered + failed + pending` at every instant. */
export interface Stats {
  /** Calls taken, bad ones included. */
  readonly accepted: number
  readonly delivered: number
  readonly failed: number
  /** Calls without an outcome yet. */
  readonly pending: number
  /** Failed events by reason; the values add up to `failed`. */
  readonly failures: Readonly<Record<FailureCode, number>>
}

/** What became of the events that a `flush()` covered. */
export interface FlushSummary {
  readonly delivered: number
  readonly failed: number
  /** Without an outcome when the flush timed out; 0 otherwise. */
  readonly pending: number
}

/** The events accepted between two flushes. */
export interface Epoch {
  pending: number
  delivered: number
  failed: number
  /** Plugin work that outlives the outcome of its event. */
  work: number
  /** A flush covers this epoch: no event joins it any more. */
  isSealed: boolean
  readonly waiters: (() => void)[]
  next: Epoch | undefined
}

/** A wait for everything accepted so far. */
export interface Barrier {
  /** Calls `run` once, when all that is covered has its outcome: at once if it has already. */
  onceReached(run: () => void): void
  summary(): FlushSummary
}

/**
 * Keeps account of every event. An event joins an epoch when it is accepted and leaves it with its outcome;
 * a flush seals the epoch and waits for it and all before it, so that overlapping flushes cost nothing per event.
 *
 * @see spec.md, section 6
 */
export class Ledger {
  #accepted = 0
  #delivered = 0
  #failed = 0
  readonly #failures = Object.fromEntries(FAILURE_CODES.map((code) => [code, 0])) as Record<
    FailureCode,
    number
  >
  #current = createEpoch()
  #oldest = this.#current

  get pending(): number {
    return this.#accepted - this.#delivered - this.#failed
  }

  /** Counts one call and returns the epoch that it belongs to. */
  accept(): Epoch {
    this.#accepted++
    this.#current.pending++
    return this.#current
  }

  /** Counts the outcome of one accepted event: failed with `code`, delivered without. */
  settle(epoch: Epoch, code: FailureCode | undefined): void {
    epoch.pending--
    if (code === undefined) {
      this.#delivered++
      epoch.delivered++
    } else {
      this.#failed++
      this.#failures[code]++
      epoch.failed++
    }
    if (isDone(epoch)) this.#advance()
  }

  beginWork(epoch: Epoch): void {
    epoch.work++
  }

  endWork(epoch: Epoch): void {
    epoch.work--
    if (isDone(epoch)) this.#advance()
  }

  /** Seals what was accepted so far. `undefined` when all of it is done. */
  barrier(): Barrier | undefined {
    const current = this.#current
    let last: Epoch | undefined
    if (current.pending > 0 || current.work > 0) {
      current.isSealed = true
      this.#current = createEpoch()
      current.next = this.#current
      last = current
    } else {
      for (let epoch = this.#oldest; epoch !== current; epoch = epoch.next as Epoch) last = epoch
    }
    return last === undefined ? undefined : createBarrier(this.#oldest, last)
  }

  stats(): Stats {
    return {
      accepted: this.#accepted,
      delivered: this.#delivered,
      failed: this.#failed,
      pending: this.pending,
      failures: { ...this.#failures },
    }
  }

  /** Epochs end in order: one that is done earlier waits for those before it. */
  #advance(): void {
    while (isDone(this.#oldest)) {
      const { waiters, next } = this.#oldest
      this.#oldest = next as Epoch
      for (const run of waiters.splice(0)) run()
    }
  }
}

function createEpoch(): Epoch {
  return { pending: 0, delivered: 0, failed: 0, work: 0, isSealed: false, waiters: [], next: undefined }
}

function isDone(epoch: Epoch): boolean {
  return epoch.isSealed && epoch.pending === 0 && epoch.work === 0
}

function createBarrier(first: Epoch, last: Epoch): Barrier {
  const sum = (): FlushSummary => {
    const total = { delivered: 0, failed: 0, pending: 0 }
    for (let epoch: Epoch | undefined = first; epoch !== last.next; epoch = epoch?.next) {
      total.delivered += epoch?.delivered ?? 0
      total.failed += epoch?.failed ?? 0
      total.pending += epoch?.pending ?? 0
    }
    return total
  }
  const before = sum()
  return {
    onceReached(run) {
      last.waiters.push(run)
    },
    summary() {
      const { delivered, failed, pending } = sum()
      return { delivered: delivered - before.delivered, failed: failed - before.failed, pending }
    },
  }
}
