import type { Credentials } from '../auth/credentials.ts'
import { describeCause } from '../errors/cause.ts'
import { DeliveryError, type FailureCode } from '../errors/errors.ts'
import { isInstance } from '../errors/guard.ts'
import type { Line } from '../line/line.ts'
import type { Clock } from '../runtime/clock.ts'
import { AsyncResource } from '../runtime/platform.node.ts'
import { type Warn, warn } from '../runtime/warn.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import { Gate, type Pass } from './gate.ts'
import { Outage } from './outage.ts'
import { BodyLimit, countWaiting, Range, Resends } from './range.ts'
import { type OutageObserver, ResultHandler, type ResultHandlerOptions } from './results.ts'
import { type Attempt, type Ending, type Sender, UNSENT } from './sender.ts'

export interface DeliveryOptions {
  readonly settings: ResolvedSettings
  readonly line: Line
  /** Bound on the messages of one request, with the commas between them. */
  readonly maxMessagesBytes: number
  readonly sender: Sender
  readonly credentials: Credentials
  readonly clock: Clock
  /** Default: a process warning. */
  readonly warn?: Warn
  /** No request is sent for this long. Must not throw. */
  readonly onPause?: (waitMs: number) => void
  readonly observer?: OutageObserver
  readonly outcomes: ResultHandlerOptions['outcomes']
}

/** Nobody is told. */
const SILENT: OutageObserver = { onOutage() {}, onRefusal() {}, onRecovery() {} }

/** From the line to the outcome: takes ranges of events, sends them when the gate lets them, and has the result handled. */
export class Delivery {
  readonly #options: DeliveryOptions
  readonly #gate: Gate
  readonly #inFlight = new Set<Range>()
  readonly #resends = new Resends()
  readonly #outage: Outage
  readonly #limit: BodyLimit
  readonly #results: ResultHandler
  /** Requests carry the events of many callers: the HTTP client runs in the context of none of them. */
  readonly #asyncContext = new AsyncResource('Trackpost')
  /** Nothing can go before a response or a timer comes, so that new events need not ask. */
  #isBlocked = false
  #cancelInterval: (() => void) | undefined
  #wakeUp: { readonly atMs: number; readonly cancel: () => void } | undefined
  #hasWarnedOfFault = false

  constructor(options: DeliveryOptions) {
    this.#options = options
    const { settings, clock, line } = options
    this.#gate = new Gate(settings.maxConcurrentRequests, clock, options.onPause)
    this.#limit = new BodyLimit(options.maxMessagesBytes)
    this.#outage = new Outage(settings)
    this.#results = new ResultHandler({
      settings,
      clock,
      line,
      gate: this.#gate,
      limit: this.#limit,
      resends: this.#resends,
      outage: this.#outage,
      observer: options.observer ?? SILENT,
      outcomes: options.outcomes,
    })
    line.onTurn = (isNearlyFull) => this.#onTurn(isNearlyFull)
  }

  /** Requests under way, the wait for an access token included. */
  get inFlight(): number {
    return this.#inFlight.size
  }

  /** Milliseconds until the gate opens; 0 when it is open. */
  get pausedMs(): number {
    return this.#gate.pausedMs
  }

  /** Events that wait to be sent, for the first time or again, and the bytes of their messages. */
  get waiting(): { readonly count: number; readonly bytes: number } {
    const { length, bytes } = this.#options.line.ready
    const parts = countWaiting([...this.#resends.ranges, ...[...this.#inFlight].map(({ next }) => next)])
    return { count: length + parts.count, bytes: bytes + parts.bytes }
  }

  /** The last failure of the service, with this code; `undefined` when nothing is wrong with it. */
  trouble(code: FailureCode): DeliveryError | undefined {
    return this.#outage.toError(code)
  }

  /** Somebody waits for the calls up to this one, until the returned function is called. */
  await(seq: number): () => void {
    return this.#outage.await(seq)
  }

  /** Sends all that waits as soon as the gate lets it. */
  flush(): void {
    this.#options.line.makeAllDue()
    this.#pump()
  }

  /**
   * Ends every event that has no outcome yet, aborts what is in flight, and leaves no timer behind.
   *
   * @param isGone What is in flight was stopped already.
   */
  abandon(error: DeliveryError, isGone = false): void {
    // All is taken out before the first outcome is told: a callback may flush, and must find nothing to send.
    const ranges = [...this.#inFlight, ...this.#resends.takeAll()]
    const items = [...ranges.flatMap((range) => range.takeAll()), ...this.#options.line.takeAll()]
    this.#cancelInterval?.()
    this.#cancelInterval = undefined
    this.#wakeUp?.cancel()
    this.#wakeUp = undefined
    this.#isBlocked = false
    if (!isGone) this.#options.sender.abort()
    for (const item of items) this.#results.end(item, error)
  }

  #onTurn(isNearlyFull: boolean): void {
    const { line, settings } = this.#options
    const { ready } = line
    // A full body or a full line is reason enough as well: waiting longer gains nothing.
    const isFull = isNearlyFull || ready.bytes >= this.#limit.bytes
    if (isFull || ready.length >= settings.flushAt) line.makeAllDue()
    if (ready.isDue && !this.#isBlocked) this.#pump()
    this.#armInterval()
  }

  #armInterval(): void {
    if (this.#options.line.ready.length === 0) {
      this.#cancelInterval?.()
      this.#cancelInterval = undefined
    } else if (this.#cancelInterval === undefined) {
      this.#cancelInterval = this.#options.clock.setTimer(() => {
        this.#cancelInterval = undefined
        this.flush()
      }, this.#options.settings.flushInterval)
    }
  }

  /** Sends whatever may go now. Never throws. */
  #pump(): void {
    try {
      // First of all: while the clock throws, nothing is sent.
      const nowMs = this.#options.clock.monotonic()
      if (!this.#outage.isQuiet) this.#results.expire(nowMs)
      this.#sendDue()
    } catch (error) {
      // A clock that tests have mocked away, for instance. The next event, flush or response asks again.
      this.#isBlocked = false
      this.#warnOfFault(error)
    }
  }

  #sendDue(): void {
    this.#isBlocked = false
    while (this.#resends.ranges.length > 0 || this.#options.line.ready.isDue) {
      const waitMs = this.#gate.waitMs()
      if (waitMs > 0) {
        this.#isBlocked = true
        return this.#wakeUpAt(Number.isFinite(waitMs) ? this.#gate.opensAtMs : waitMs)
      }
      const pass = this.#gate.enter()
      const range = this.#next()
      void this.#asyncContext.runInAsyncScope(() => this.#attempt(range, pass))
    }
    this.#wakeUpAt(Number.POSITIVE_INFINITY)
  }

  /**
   * Takes the range that goes next: the oldest. During an outage it is one that the fewest
   * requests have carried, so that events which the service cannot take hold up no others; but not where one request at a
   * time keeps the order.
   */
  #next(): Range {
    const { line, settings } = this.#options
    const { ready } = line
    const [resend] = this.#resends.ranges
    const first = ready.isDue ? ready.first : undefined
    const isFair = this.#outage.failures > 0 && settings.maxConcurrentRequests > 1
    const fresh = isFair && first !== undefined ? line.freshest : first
    const isResendNext =
      resend !== undefined &&
      (fresh === undefined || (isFair ? resend.attempts <= fresh.attempts : resend.order < fresh.order))
    if (isResendNext) return this.#resends.take(resend)
    return new Range(line.take(this.#limit.bytes, settings.maxRequestEvents, fresh))
  }

  /** Wakes up at this moment or when something has waited too long, whichever comes first. */
  #wakeUpAt(gateOpensAtMs: number): void {
    const isWaiting = this.#resends.ranges.length + this.#options.line.ready.length > 0
    const atMs = isWaiting ? Math.min(gateOpensAtMs, this.#outage.nextExpiryMs) : Number.POSITIVE_INFINITY
    // A timer that is set stays: where tests drive the timers, what is left of a wait is known to the timer alone.
    if (this.#wakeUp?.atMs === atMs) return
    this.#wakeUp?.cancel()
    this.#wakeUp = undefined
    if (atMs === Number.POSITIVE_INFINITY) return
    const { clock } = this.#options
    const cancel = clock.setTimer(
      () => {
        this.#wakeUp = undefined
        this.#pump()
      },
      Math.max(0, Math.ceil(atMs - clock.monotonic())),
    )
    this.#wakeUp = { atMs, cancel }
  }

  /** Sends one range, has the result handled and gives its place back. Never rejects. */
  async #attempt(range: Range, pass: Pass): Promise<void> {
    this.#inFlight.add(range)
    const mayGo = (): boolean => range.items.length > 0 && this.#gate.isCurrent(pass)
    let attempt: Attempt | undefined
    try {
      let ending: Ending
      const given = this.#authorization()
      // No await where the value is at hand: the request goes out in this very turn.
      const isAtHand = !(given instanceof Promise)
      const authorization = isAtHand ? given : await given
      if (typeof authorization !== 'string') ending = { action: 'unsent', error: authorization }
      // While the credentials were fetched, the range was given up, or the gate shut.
      else if (!isAtHand && !mayGo()) ending = UNSENT
      else {
        attempt = this.#options.sender.send(range, authorization, mayGo)
        ending = await attempt.result
      }
      this.#inFlight.delete(range)
      this.#conclude(range, pass, ending)
    } catch (error) {
      this.#inFlight.delete(range)
      this.#contain(range, pass, error)
    }
    if (attempt !== undefined) {
      this.#pump()
      await attempt.finished
    }
    this.#gate.leave()
    this.#pump()
  }

  /** The `Authorization` header, or the error that leaves us without one. */
  #authorization(): string | DeliveryError | Promise<string | DeliveryError> {
    try {
      const { credentials } = this.#options
      const given = typeof credentials === 'string' ? credentials : credentials.authorization()
      return typeof given === 'string' ? given : given.catch(toAuthError)
    } catch (error) {
      return toAuthError(error)
    }
  }

  #conclude(range: Range, pass: Pass, ending: Ending): void {
    if (ending.action !== 'unsent') {
      if (range.items.length > 0) return this.#results.handle(range, pass, ending)
      // Abandoned meanwhile. Should this have been the probe, the next request is.
      return this.#gate.probe(pass)
    }
    const { error } = ending
    if (pass.isProbe && (error === undefined || range.items.length === 0)) this.#gate.probe(pass)
    if (range.items.length === 0) return
    if (error === undefined) return this.#resends.add(range)
    range.failure = () => error
    this.#results.refuse(range, pass, 'auth', 'token')
  }

  /** Whatever threw, the batch has its next attempt or its outcome. */
  #contain(range: Range, pass: Pass, error: unknown): void {
    this.#warnOfFault(error)
    try {
      const message = `no attempt could be made: ${describeCause(error)}`
      this.#results.handleFault(range, pass, (code) => new DeliveryError(code, message))
    } catch {
      // The clock itself: the batch is in its place, and there is no wait.
    }
  }

  #warnOfFault(error: unknown): void {
    if (this.#hasWarnedOfFault) return
    this.#hasWarnedOfFault = true
    ;(this.#options.warn ?? warn)(
      'delivery_fault',
      `the delivery was interrupted and goes on: ${describeCause(error)}`,
    )
  }
}

function toAuthError(error: unknown): DeliveryError {
  if (isInstance(error, DeliveryError)) return error
  return new DeliveryError('auth', `there are no credentials: ${describeCause(error)}`, { cause: error })
}
