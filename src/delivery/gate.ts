import { backoffMs } from '../policy/response.ts'
import type { Clock } from '../runtime/clock.ts'

/** The permission to send one request. */
export interface Pass {
  /** How often the gate had shut when the request was sent. A success does not open a gate that has shut since. */
  readonly generation: number
  readonly isProbe: boolean
}

/** After this many successes, a 429 counts as a new rate limit instead of a repeated one. */
const CALM_AFTER = 20
/** After more 413s in a row than this, the service counts as failing: finding one large event takes fewer requests. */
const MAX_TOO_LARGE_IN_A_ROW = 16

/**
 * The circuit breaker of the client. While the gate is shut, nothing is sent (a circuit breaker calls this "open"). When the
 * gate opens, one request is sent as a probe, and other requests follow only if it succeeds. So an outage causes only a few
 * requests a minute, even if many events wait.
 *
 * @see docs/spec.md, section 8
 */
export class Gate {
  readonly #maxConcurrent: number
  readonly #clock: Pick<Clock, 'monotonic' | 'random'>
  readonly #onPause: (waitMs: number) => void
  #inFlight = 0
  #failures = 0
  #generation = 0
  /** Whether only the probe may be sent, from `#opensAtMs` on. */
  #isProbing = false
  #isProbeOut = false
  #opensAtMs = Number.NEGATIVE_INFINITY
  /** How many requests may be in flight at once. Halved by a repeated 429, and increased by one after every 20 successes. */
  #allowed: number
  /** Successes since the last 429, or since `#allowed` was increased. */
  #successes = CALM_AFTER
  /** Number of 413s since the last success. */
  #tooLarge = 0

  /** @param onPause Called with the wait in milliseconds each time the gate shuts or its wait is extended. */
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

  /** On the monotonic clock. In the past when the gate has opened. */
  get opensAtMs(): number {
    return this.#opensAtMs
  }

  /** Milliseconds until a request may be sent: 0 means now, `Infinity` means only after a response. */
  waitMs(): number {
    if (this.#inFlight >= this.#allowed) return Number.POSITIVE_INFINITY
    if (!this.#isProbing) return 0
    if (this.#isProbeOut) return Number.POSITIVE_INFINITY
    return Math.max(0, this.#opensAtMs - this.#clock.monotonic())
  }

  /** Milliseconds until the gate opens; 0 when it is open. */
  get pausedMs(): number {
    return this.#isProbing ? Math.max(0, this.#opensAtMs - this.#clock.monotonic()) : 0
  }

  /** Call only when {@link waitMs} returns 0. */
  enter(): Pass {
    this.#inFlight++
    const pass = { generation: this.#generation, isProbe: this.#isProbing }
    if (pass.isProbe) this.#isProbeOut = true
    return pass
  }

  /** Called when the request no longer needs a socket. */
  leave(): void {
    this.#inFlight--
  }

  /** Whether the gate is open, and has not shut since this pass was given. */
  isOpenFor(pass: Pass): boolean {
    return !this.#isProbing && pass.generation === this.#generation
  }

  /** Whether the gate has not shut since this pass was given. */
  isCurrent(pass: Pass): boolean {
    return pass.generation === this.#generation
  }

  /**
   * The service responded to the request.
   *
   * @returns `false` when the gate has shut since the request was sent: this success then does not count.
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
   * The service failed: shuts the gate for the next backoff wait, or for `floorMs` if that is longer. Concurrent requests that
   * fail count as one failure.
   *
   * @returns Whether this request counted as a new failure.
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

  /** The service limits the rate, and says how long to wait. */
  limit(pass: Pass, waitMs: number): void {
    if (!this.#isKnown(pass)) {
      if (this.#successes < CALM_AFTER) this.#allowed = Math.max(1, Math.floor(this.#allowed / 2))
      this.#successes = 0
    }
    this.rest(pass, waitMs)
  }

  /** Shuts the gate for a wait that the service asks for. */
  rest(pass: Pass, waitMs: number): void {
    if (this.#isKnown(pass)) this.#extend(waitMs)
    else this.#shut(waitMs)
  }

  /** The request tells nothing about the service: another probe is sent at once. */
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

  /** Whether the gate has shut since this request was sent and has not reopened. If so, its failure is not a new one. */
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
