import { FAILURE_CODES, type FailureCode } from '../errors/errors.ts'
import { elementAt } from '../errors/guard.ts'
import type { Item } from '../line/item.ts'

/**
 * Counts of a client's events. `accepted = delivered + failed + deferred + pending` at every instant; without a spool,
 * `deferred` and `recovered` are 0.
 */
export interface Stats {
  /** Calls, including those with bad arguments, plus `recovered`. */
  readonly accepted: number
  /** Events that the service has accepted. */
  readonly delivered: number
  /** Events that will not be delivered; each was reported. */
  readonly failed: number
  /** Events left in the spool, for the next start. */
  readonly deferred: number
  /** Calls and recovered events that have no outcome yet. */
  readonly pending: number
  /** Events that an earlier process left in the spool, as far as they have been read. */
  readonly recovered: number
  /** Failed events by reason; the values add up to `failed`. */
  readonly failures: Readonly<Record<FailureCode, number>>
}

/** Counts of the events that a `flush()` waited for, by outcome. */
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

interface Totals {
  readonly delivered: number
  readonly failed: number
  readonly deferred: number
}

/** The calls that one flush waits for and no earlier flush did: those after the `last` of the previous cover, up to `last`. */
interface Cover {
  readonly last: number
  /** Missing outcomes, plus plugin work that has not finished. */
  open: number
  delivered: number
  failed: number
  deferred: number
  /** Called when this cover and all covers before it are closed. */
  readonly waiters: (() => void)[]
  /** The totals of this cover and all covers before it; `undefined` until these are closed. */
  totals: Totals | undefined
}

/** A wait for everything accepted so far. */
export interface Barrier {
  /** The number of the last call that the barrier covers. */
  readonly seq: number
  /** Calls `run` when everything covered has its outcome. */
  onceReached(run: () => void): void
  summary(): FlushSummary
}

/** A flush called by a plugin. It must not wait for `items`, the events that the plugin itself is handling. */
interface Exemption {
  readonly last: number
  readonly items: readonly Item[]
  readonly run: () => void
}

/**
 * Counts every event. Calls are numbered; a flush covers the calls up to the latest number, and ends when none of them is open.
 * Each event is counted only for the first flush that covers it, so that overlapping flushes add no work per event.
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
  /** Sorted by `last`. */
  readonly #covers: Cover[] = []
  /** Missing outcomes and unfinished plugin work of the calls that no flush covers. */
  #openUncovered = 0
  /** The number of the last call that a flush covers. */
  lastCovered = 0
  /** The totals of all covered calls (`#covered`), and of the calls in covers that are closed (`#closed`). */
  readonly #covered = { delivered: 0, failed: 0, deferred: 0 }
  readonly #closed = { delivered: 0, failed: 0, deferred: 0 }
  readonly #exemptions = new Set<Exemption>()

  get pending(): number {
    return this.#accepted - this.#delivered - this.#failed - this.#deferred
  }

  /** Whether no outcome is missing and no plugin is at work. */
  get isIdle(): boolean {
    return this.#openUncovered + this.#covers.length === 0
  }

  get accepted(): number {
    return this.#accepted
  }

  /** Counts one call and returns its number. */
  accept(): number {
    this.#openUncovered++
    return ++this.#accepted
  }

  recover(): number {
    this.#recovered++
    return this.accept()
  }

  settle(item: Item, code: FailureCode | 'deferred' | undefined): void {
    const cover = this.#coverOf(item.seq)
    if (code === undefined) this.#delivered++
    else if (code === 'deferred') this.#deferred++
    else {
      this.#failed++
      this.#failures[code]++
    }
    if (cover !== undefined) {
      const name = code === undefined ? 'delivered' : code === 'deferred' ? code : 'failed'
      cover[name]++
      this.#covered[name]++
    }
    this.endWork(item)
  }

  /** Counts plugin work on an event: a flush that covers the event also waits for this work. */
  beginWork(item: Item): void {
    item.open++
    const cover = this.#coverOf(item.seq)
    if (cover === undefined) this.#openUncovered++
    else cover.open++
  }

  endWork(item: Item): void {
    item.open--
    const cover = this.#coverOf(item.seq)
    if (cover === undefined) this.#openUncovered--
    else cover.open--
    if (cover?.open === 0) this.#close()
    if (this.#exemptions.size > 0) this.#endExemptions()
  }

  /**
   * Covers all calls accepted so far.
   *
   * @param exempt Events not to wait for, because the plugin that called flush is handling them.
   * @returns `undefined` when there is nothing to wait for.
   */
  barrier(exempt: readonly Item[] = []): Barrier | undefined {
    const { pending } = this
    const covered = { ...this.#covered }
    const last = this.#cover()
    if (last === undefined) return undefined
    const mine = exempt.filter(({ open }) => open > 0)
    return {
      seq: last.last,
      onceReached: (run) => {
        if (mine.length === 0) {
          if (last.totals === undefined) last.waiters.push(run)
          else run()
          return
        }
        // A waiting plugin also exempts the events of other waiting plugins: otherwise two plugins would wait for each other.
        this.#exemptions.add({ last: last.last, items: mine, run })
        this.#endExemptions()
      },
      summary: () => {
        const { delivered, failed, deferred } = minus(last.totals ?? this.#upTo(last), covered)
        const exempted = mine.filter(({ state }) => state !== 'done').length
        const left = pending - delivered - failed - deferred - exempted
        return { delivered, failed, pending: left, ...(deferred > 0 && { deferred }) }
      },
    }
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

  /** The last cover, which now includes all open calls; `undefined` when no call is open. */
  #cover(): Cover | undefined {
    if (this.#openUncovered > 0) {
      const counts = { open: this.#openUncovered, delivered: 0, failed: 0, deferred: 0 }
      this.#covers.push({ last: this.#accepted, ...counts, waiters: [], totals: undefined })
      this.lastCovered = this.#accepted
      this.#openUncovered = 0
    }
    return elementAt(this.#covers, -1)
  }

  #coverOf(seq: number): Cover | undefined {
    if (seq > this.lastCovered) return undefined
    let [low, high] = [0, this.#covers.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#covers[middle] as Cover).last < seq) low = middle + 1
      else high = middle
    }
    return this.#covers[low]
  }

  /** Covers close in order: a cover whose events are all done waits for the covers before it. */
  #close(): void {
    for (let first = this.#covers[0]; first?.open === 0; first = this.#covers[0]) {
      this.#covers.shift()
      this.#closed.delivered += first.delivered
      this.#closed.failed += first.failed
      this.#closed.deferred += first.deferred
      first.totals = { ...this.#closed }
      for (const run of first.waiters.splice(0)) run()
    }
  }

  #endExemptions(): void {
    const exempt = new Set([...this.#exemptions].flatMap(({ items }) => items))
    for (const one of [...this.#exemptions]) {
      let open = 0
      for (const cover of this.#covers) if (cover.last <= one.last) open += cover.open
      for (const item of exempt) if (item.seq <= one.last) open -= item.open
      if (open > 0 || !this.#exemptions.delete(one)) continue
      one.run()
    }
  }

  /** The totals of the calls up to and including this cover. */
  #upTo(last: Cover): Totals {
    const sum = { ...this.#closed }
    for (const cover of this.#covers) {
      sum.delivered += cover.delivered
      sum.failed += cover.failed
      sum.deferred += cover.deferred
      if (cover === last) break
    }
    return sum
  }
}

function minus(a: Totals, b: Totals): Totals {
  return {
    delivered: a.delivered - b.delivered,
    failed: a.failed - b.failed,
    deferred: a.deferred - b.deferred,
  }
}
