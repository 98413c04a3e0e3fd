import type { DeliveryError, FailureCode } from '../errors/errors.ts'
import { elementAt } from '../errors/guard.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { ToError } from './send-result.ts'

interface Mark {
  upTo: number
  readonly sinceMs: number
}

/**
 * Limits how long events wait for the end of an outage or a rate limit. The wait of an event begins with the first failed
 * request after the event was ready to be sent.
 */
export class Deadline {
  readonly #durationMs: number
  /** One mark for each group of waiting events: events up to the place `upTo` in the line have waited since `sinceMs`. */
  readonly #marks: Mark[] = []
  /** Events up to this place in the line have waited too long. */
  #expiredUpTo = 0

  constructor(durationMs: number) {
    this.#durationMs = durationMs
  }

  /** Begins the wait of each event up to the place `upTo`, unless the event already waits. */
  begin(upTo: number, nowMs: number): void {
    const last = elementAt(this.#marks, -1)
    if (upTo <= (last?.upTo ?? this.#expiredUpTo)) return
    // Waits that begin within a thousandth of the limit share a mark, which limits the number of marks.
    if (last !== undefined && nowMs - last.sinceMs < this.#durationMs / 1_000) last.upTo = upTo
    else this.#marks.push({ upTo, sinceMs: nowMs })
  }

  end(): void {
    this.#marks.length = 0
    this.#expiredUpTo = 0
  }

  /** The time at which the next events have waited too long; `Infinity` if no event waits. */
  get nextMs(): number {
    return (elementAt(this.#marks, 0)?.sinceMs ?? Number.POSITIVE_INFINITY) + this.#durationMs
  }

  /**
   * The place in the line up to which events have waited too long; 0 for none. Also applies to events that are in flight now
   * and come back later.
   */
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
 * Counts the failures of the service since it last responded without failing, and how many of these failures each event and
 * each waiting caller has seen. Also keeps the deadlines for outages and rate limits.
 *
 * @see docs/spec.md, section 8.1
 */
export class Outage {
  readonly #maxFailures: number
  /** For each of the latest failures, the place in the line up to which events were due. */
  readonly #seen: number[] = []
  readonly #awaiting = new Set<Awaiting>()
  failures = 0
  /** Whether the service does not fail and no event waits for a rate limit. */
  isQuiet = true
  readonly backoff: Deadline
  readonly rateLimit: Deadline
  #toError: ToError | undefined
  #toLimitError: ToError | undefined
  /** The code for events that fail in this outage. Set only when the service refuses the settings. */
  #code: FailureCode | undefined
  /** When the outage began, on the monotonic clock. */
  sinceMs = 0

  constructor({
    maxRetries,
    maxTotalBackoffDuration,
    maxRateLimitDuration,
  }: Pick<ResolvedSettings, 'maxRetries' | 'maxTotalBackoffDuration' | 'maxRateLimitDuration'>) {
    // An awaited event has its first attempt and `maxRetries` retries.
    this.#maxFailures = maxRetries + 1
    this.backoff = new Deadline(maxTotalBackoffDuration * 1_000)
    this.rateLimit = new Deadline(maxRateLimitDuration * 1_000)
  }

  /** Notes that a caller waits for all events up to the number `seq`. The returned function ends the wait. */
  await(seq: number): () => void {
    const awaiting = { seq, failures: 0 }
    this.#awaiting.add(awaiting)
    return () => this.#awaiting.delete(awaiting)
  }

  /**
   * @param upTo The last place in the line whose event is due.
   * @param code Set when the service refused the settings; `undefined` when it is unreachable or fails.
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

  /** Keeps the error of a failure that is not counted because the request is retried at once. */
  note(toError: ToError): void {
    this.isQuiet = false
    this.#toError ??= toError
  }

  /** The service limits the rate: events up to the place `upTo` wait from now on. */
  limit(upTo: number, nowMs: number, toError: ToError | undefined): void {
    this.isQuiet = false
    this.#toLimitError = toError
    this.rateLimit.begin(upTo, nowMs)
  }

  /** The service responded without failing. */
  end(): void {
    this.isQuiet = true
    this.#toError = undefined
    this.failures = 0
    this.#seen.length = 0
    this.backoff.end()
    this.rateLimit.end()
    for (const awaiting of this.#awaiting) awaiting.failures = 0
  }

  /** The place in the line up to which events have seen more than `maxRetries` failures; `undefined` for none. */
  get exhaustedUpTo(): number | undefined {
    return this.#seen.length < this.#maxFailures ? undefined : this.#seen[0]
  }

  /** The greatest `seq` of a caller that has waited through more than `maxRetries` failures; 0 for none. */
  get awaitedUpTo(): number {
    let upTo = 0
    for (const { seq, failures } of this.#awaiting)
      if (failures >= this.#maxFailures) upTo = Math.max(upTo, seq)
    return upTo
  }

  /**
   * The last failure of the service as an error; `undefined` while the service does not fail. The error has `code`, unless the
   * service refused the settings.
   */
  toError(code: FailureCode): DeliveryError | undefined {
    return this.#toError?.(this.#code ?? code)
  }

  toLimitError(code: FailureCode): DeliveryError | undefined {
    return this.#toLimitError?.(code)
  }

  get nextExpiryMs(): number {
    return Math.min(this.backoff.nextMs, this.rateLimit.nextMs)
  }
}
