import type { DeliveryError, FailureCode } from '../errors/errors.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { ToError } from './result.ts'

interface Mark {
  upTo: number
  readonly sinceMs: number
}

/** A wait that is over for what was waiting at its beginning: after an outage, and after a rate limit, that lasts too long. */
export class Deadline {
  readonly #durationMs: number
  /** Up to which place of the line events have waited since when. */
  readonly #marks: Mark[] = []
  /** Up to which place events have waited too long. */
  #expiredUpTo = 0

  /** @param durationMs How long events may wait. */
  constructor(durationMs: number) {
    this.#durationMs = durationMs
  }

  /** Events up to this place wait, from now on if they did not before. */
  begin(upTo: number, nowMs: number): void {
    const last = this.#marks[this.#marks.length - 1]
    if (upTo <= (last?.upTo ?? this.#expiredUpTo)) return
    // A thousandth of the time makes no difference, and bounds how many there are.
    if (last !== undefined && nowMs - last.sinceMs < this.#durationMs / 1_000) last.upTo = upTo
    else this.#marks.push({ upTo, sinceMs: nowMs })
  }

  /** The wait is over for all. */
  end(): void {
    this.#marks.length = 0
    this.#expiredUpTo = 0
  }

  /** The moment at which the next events have waited too long. */
  get nextMs(): number {
    const first = this.#marks[0]
    return first === undefined ? Number.POSITIVE_INFINITY : first.sinceMs + this.#durationMs
  }

  /** Up to which place events have waited too long, those included that were in flight at that moment; 0 for none. */
  expiredUpTo(nowMs: number): number {
    while (this.nextMs <= nowMs) this.#expiredUpTo = (this.#marks.shift() as Mark).upTo
    return this.#expiredUpTo
  }
}

/** Somebody waits for all events up to a place of the line, a flush for instance. */
interface Awaiting {
  readonly seq: number
  /** Failures in a row since. */
  failures: number
}

/**
 * Failures of the service in a row, with no request accepted between them, and who has seen how many of them; rate limits
 * that hold up what waits.
 *
 * @see docs/spec.md, section 8.1
 */
export class Outage {
  readonly #maxFailures: number
  /** Up to which place events were due at each of the latest failures. */
  readonly #seen: number[] = []
  readonly #awaiting = new Set<Awaiting>()
  /** Failures in a row. */
  failures = 0
  /** Nothing is wrong, and nothing waits for a rate limit. */
  isQuiet = true
  /** For how long events may wait in an outage, and for rate limits. */
  readonly backoff: Deadline
  readonly rateLimit: Deadline
  #toError: ToError | undefined
  #toLimitError: ToError | undefined
  /** The code of the events that it ends: that of the refusal, where the service refuses the settings. */
  #code: FailureCode | undefined
  /** The monotonic moment at which it began. */
  sinceMs = 0

  constructor({
    maxRetries,
    maxTotalBackoffDuration,
    maxRateLimitDuration,
  }: Pick<ResolvedSettings, 'maxRetries' | 'maxTotalBackoffDuration' | 'maxRateLimitDuration'>) {
    // One more than an awaited event has retries.
    this.#maxFailures = maxRetries + 1
    this.backoff = new Deadline(maxTotalBackoffDuration * 1_000)
    this.rateLimit = new Deadline(maxRateLimitDuration * 1_000)
  }

  /** Somebody waits for the calls up to this one, until the returned function is called. */
  await(seq: number): () => void {
    const awaiting = { seq, failures: 0 }
    this.#awaiting.add(awaiting)
    return () => this.#awaiting.delete(awaiting)
  }

  /**
   * One more failure in a row.
   *
   * @param upTo The last place of the line that is due.
   * @param code Left out where the service is just not there.
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

  /** A failure that is tried again at once, and does not count. */
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

  /** Up to which place of the line events have seen too many failures; `undefined` for none. */
  get exhaustedUpTo(): number | undefined {
    return this.#seen.length < this.#maxFailures ? undefined : this.#seen[0]
  }

  /** Up to which call somebody has waited for too many failures. */
  get awaitedUpTo(): number {
    let upTo = 0
    for (const { seq, failures } of this.#awaiting)
      if (failures >= this.#maxFailures) upTo = Math.max(upTo, seq)
    return upTo
  }

  /** The last failure of the service, with this code; `undefined` when nothing is wrong. */
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
