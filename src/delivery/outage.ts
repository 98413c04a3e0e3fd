import type { DeliveryError, FailureCode } from '../errors/errors.ts'
import { elementAt } from '../errors/guard.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { ToError } from './send-result.ts'

interface Mark {
  upTo: number
  readonly sinceMs: number
}

/**
 * Limits how long events wait for an outage or a rate limit to end. Each event's wait is measured from the first failure that
 * it saw.
 */
export class Deadline {
  readonly #durationMs: number
  /** Events up to place `upTo` of the line have waited since `sinceMs`. */
  readonly #marks: Mark[] = []
  /** Events up to this place have waited too long. */
  #expiredUpTo = 0

  /** @param durationMs How long events may wait. */
  constructor(durationMs: number) {
    this.#durationMs = durationMs
  }

  /** Events up to this place wait from now on, unless they wait already. */
  begin(upTo: number, nowMs: number): void {
    const last = elementAt(this.#marks, -1)
    if (upTo <= (last?.upTo ?? this.#expiredUpTo)) return
    // Rounded to a thousandth of the limit, which bounds the number of marks.
    if (last !== undefined && nowMs - last.sinceMs < this.#durationMs / 1_000) last.upTo = upTo
    else this.#marks.push({ upTo, sinceMs: nowMs })
  }

  /** Ends the wait of all events. */
  end(): void {
    this.#marks.length = 0
    this.#expiredUpTo = 0
  }

  /** The moment at which the next events have waited too long. */
  get nextMs(): number {
    return (elementAt(this.#marks, 0)?.sinceMs ?? Number.POSITIVE_INFINITY) + this.#durationMs
  }

  /** The place up to which events have waited too long, including those in flight at that moment; 0 for none. */
  expiredUpTo(nowMs: number): number {
    while (this.nextMs <= nowMs) this.#expiredUpTo = (this.#marks.shift() as Mark).upTo
    return this.#expiredUpTo
  }
}

/** A caller, for example a flush, waits for all calls up to `seq`. */
interface Awaiting {
  readonly seq: number
  /** Failures in a row since the wait began. */
  failures: number
}

/**
 * Counts failures of the service in a row, with no request accepted between them, and how many of them each event and each
 * waiting caller has seen. Also keeps the deadlines of backoff and rate limits.
 *
 * @see docs/spec.md, section 8.1
 */
export class Outage {
  readonly #maxFailures: number
  /** For each of the latest failures, the place up to which events were due. */
  readonly #seen: number[] = []
  readonly #awaiting = new Set<Awaiting>()
  /** Failures in a row. */
  failures = 0
  /** The service does not fail, and no event waits for a rate limit. */
  isQuiet = true
  /** Deadlines for waiting in an outage, and for rate limits. */
  readonly backoff: Deadline
  readonly rateLimit: Deadline
  #toError: ToError | undefined
  #toLimitError: ToError | undefined
  /** Code of the events that fail in this outage: set when the service refuses the settings. */
  #code: FailureCode | undefined
  /** The monotonic moment at which the outage began. */
  sinceMs = 0

  constructor({
    maxRetries,
    maxTotalBackoffDuration,
    maxRateLimitDuration,
  }: Pick<ResolvedSettings, 'maxRetries' | 'maxTotalBackoffDuration' | 'maxRateLimitDuration'>) {
    // An awaited event has `maxRetries` retries, and one attempt before them.
    this.#maxFailures = maxRetries + 1
    this.backoff = new Deadline(maxTotalBackoffDuration * 1_000)
    this.rateLimit = new Deadline(maxRateLimitDuration * 1_000)
  }

  /** A caller waits for all events up to this number, until it runs the returned function. */
  await(seq: number): () => void {
    const awaiting = { seq, failures: 0 }
    this.#awaiting.add(awaiting)
    return () => this.#awaiting.delete(awaiting)
  }

  /**
   * One more failure in a row.
   *
   * @param upTo The last place of the line that is due.
   * @param code Left out when the service is unreachable or fails.
   */
  fail(upTo: number, nowMs: number, toError: ToError, code: FailureCode | undefined): void {
    if (this.failures++ === 0) this.sinceMs = nowMs
    this.isQuiet = false
    this.backoff.begin(upTo, nowMs)
    this.#toError = toError
    this.#code = code
    this.#seen.push(upTo)
    if (this.#seen.length > this.#maxFailures) this.#seen.shift()
    for (const awaiting of this.#awaiting) awaiting.failures++
  }

  /** Notes a failure that is retried at once and does not count. */
  note(toError: ToError): void {
    this.isQuiet = false
    this.#toError ??= toError
  }

  /** The service asks to wait. */
  limit(upTo: number, nowMs: number, toError: ToError | undefined): void {
    this.isQuiet = false
    this.#toLimitError = toError
    this.rateLimit.begin(upTo, nowMs)
  }

  /** A request was accepted. */
  end(): void {
    this.isQuiet = true
    this.#toError = undefined
    this.failures = 0
    this.#seen.length = 0
    this.backoff.end()
    this.rateLimit.end()
    for (const awaiting of this.#awaiting) awaiting.failures = 0
  }

  /** The place of the line up to which events have seen too many failures; `undefined` for none. */
  get exhaustedUpTo(): number | undefined {
    return this.#seen.length < this.#maxFailures ? undefined : this.#seen[0]
  }

  /** The last call that a caller has waited for through too many failures. */
  get awaitedUpTo(): number {
    let upTo = 0
    for (const { seq, failures } of this.#awaiting)
      if (failures >= this.#maxFailures) upTo = Math.max(upTo, seq)
    return upTo
  }

  /** The last failure of the service, with `code` unless it refused the settings; `undefined` while it does not fail. */
  toError(code: FailureCode): DeliveryError | undefined {
    return this.#toError?.(this.#code ?? code)
  }

  /** The last response in which the service asked to wait. */
  toLimitError(code: FailureCode): DeliveryError | undefined {
    return this.#toLimitError?.(code)
  }

  /** When the next event has waited too long. */
  get nextExpiryMs(): number {
    return Math.min(this.backoff.nextMs, this.rateLimit.nextMs)
  }
}
