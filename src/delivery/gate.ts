import { backoffMs } from '../policy/response.ts'
import type { Clock } from '../runtime/clock.ts'

/** The right to make one request. */
export interface Pass {
  /** Generation of the gate when the request was sent: it tells whether the result is about an earlier outage. */
  readonly generation: number
  readonly isProbe: boolean
}

/** After this many successes a 429 counts as a new limit. */
const CALM_AFTER = 20
/** More 413s in a row than the search for one large event in the largest range needs: the service refuses everything. */
const MAX_TOO_LARGE_IN_A_ROW = 16

/**
 * Decides when the next request may be sent: the circuit breaker of the client. While the gate is shut nothing is sent. When it
 * opens, one probe goes first, and only its success lets other requests through. So an outage causes a few requests a minute,
 * however many events wait. (A circuit breaker is "open" while nothing is sent; a gate is "shut".)
 *
 * @see docs/spec.md, section 8
 */
export class Gate {
  readonly #maxConcurrent: number
  readonly #clock: Pick<Clock, 'monotonic' | 'random'>
  readonly #onPause: (waitMs: number) => void
  #inFlight = 0
  /** Failures in a row, of the service as a whole. */
  #failures = 0
  /** Grows each time the gate shuts. */
  #generation = 0
  /** While this is set, only the probe may be sent, from `#opensAtMs` on. */
  #isProbing = false
  #isProbeOut = false
  #opensAtMs = Number.NEGATIVE_INFINITY
  /** Concurrency window: halved on repeated 429s, regained one by one. */
  #allowed: number
  /** Successes since the last 429, or since one more request was allowed. */
  #successes = CALM_AFTER
  /** 413s since the last success. */
  #tooLarge = 0

  /** @param onPause Called with how long the gate stays shut, each time it shuts or its wait is extended. */
  constructor(
    maxConcurrent: number,
    clock: Pick<Clock, 'monotonic' | 'random'>,
    onPause: (waitMs: number) => void = () => {},
  ) {
    this.#maxConcurrent = maxConcurrent
    this.#allowed = maxConcurrent
    this.#clock = clock
    this.#onPause = onPause
  }

  /** The monotonic moment at which the gate opens, or opened. */
  get opensAtMs(): number {
    return this.#opensAtMs
  }

  /** Milliseconds until a request may go: 0 = now, infinite = only after a response. */
  waitMs(): number {
    if (this.#inFlight >= this.#allowed) return Number.POSITIVE_INFINITY
    if (!this.#isProbing) return 0
    if (this.#isProbeOut) return Number.POSITIVE_INFINITY
    return Math.max(0, this.#opensAtMs - this.#clock.monotonic())
  }

  /** Milliseconds until it opens; 0 when it is open. */
  get pausedMs(): number {
    return this.#isProbing ? Math.max(0, this.#opensAtMs - this.#clock.monotonic()) : 0
  }

  /** Takes a place. Call only when {@link waitMs} is 0. */
  enter(): Pass {
    this.#inFlight++
    const pass = { generation: this.#generation, isProbe: this.#isProbing }
    if (pass.isProbe) this.#isProbeOut = true
    return pass
  }

  /** Gives the place back: the socket is free. */
  leave(): void {
    this.#inFlight--
  }

  /** Whether the gate has stayed open since this request was sent. */
  isOpenFor(pass: Pass): boolean {
    return !this.#isProbing && pass.generation === this.#generation
  }

  /** Whether the gate has not shut since this pass was given. */
  isCurrent(pass: Pass): boolean {
    return pass.generation === this.#generation
  }

  /**
   * The service responded.
   *
   * @returns Whether the gate is open now. It is not when another request has failed in between.
   */
  succeed(pass: Pass): boolean {
    if (!this.isCurrent(pass)) return false
    this.#failures = 0
    this.#tooLarge = 0
    this.#isProbing = false
    this.#successes++
    if (this.#successes >= CALM_AFTER && this.#allowed < this.#maxConcurrent) {
      this.#allowed++
      this.#successes = 0
    }
    return true
  }

  /**
   * The service failed: shuts the gate for the next backoff, or for `floorMs` if that is longer. Concurrent requests that fail
   * count as one failure.
   *
   * @returns Whether it counted as a new failure.
   */
  fail(pass: Pass, floorMs = 0): boolean {
    if (this.#isKnown(pass)) {
      this.#extend(floorMs)
      return false
    }
    this.#failures++
    this.#shut(Math.max(floorMs, backoffMs(this.#failures, this.#clock.random())))
    return true
  }

  /**
   * The service responded with its rate limit. A repeated limit halves the allowed concurrency; every 20 successes since then
   * allow one more request.
   */
  limit(pass: Pass, waitMs: number): void {
    if (!this.#isKnown(pass)) {
      if (this.#successes < CALM_AFTER) this.#allowed = Math.max(1, Math.floor(this.#allowed / 2))
      this.#successes = 0
    }
    this.rest(pass, waitMs)
  }

  /** The service asks for a rest. */
  rest(pass: Pass, waitMs: number): void {
    if (this.#isKnown(pass)) this.#extend(waitMs)
    else this.#shut(waitMs)
  }

  /** This request says nothing about the service: another probe is sent at once. */
  probe(pass: Pass): void {
    if (this.isCurrent(pass)) this.#shut(0)
  }

  /**
   * The request was too large. A smaller one is sent as a probe at once. A service that refuses every size counts as failing.
   */
  refuseSize(pass: Pass): void {
    if (!this.isCurrent(pass)) return
    this.#tooLarge++
    if (this.#tooLarge > MAX_TOO_LARGE_IN_A_ROW) this.fail(pass)
    else this.#shut(0)
  }

  /**
   * Whether the gate is already shut because of this failure. A failure that is seen after the gate reopened counts as a new
   * one.
   */
  #isKnown(pass: Pass): boolean {
    return this.#isProbing && !this.isCurrent(pass)
  }

  #shut(waitMs: number): void {
    this.#generation++
    this.#isProbing = true
    this.#isProbeOut = false
    this.#opensAtMs = this.#clock.monotonic() + waitMs
    if (waitMs > 0) this.#onPause(waitMs)
  }

  #extend(waitMs: number): void {
    const opensAtMs = this.#clock.monotonic() + waitMs
    if (waitMs <= 0 || opensAtMs <= this.#opensAtMs) return
    this.#opensAtMs = opensAtMs
    this.#onPause(waitMs)
  }
}
