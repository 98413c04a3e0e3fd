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
import type { OutageObserver } from './observer.ts'
import { Outage } from './outage.ts'
import { BodyLimit, countWaiting, Range, Resends } from './range.ts'
import { ResultHandler, type ResultHandlerOptions } from './result-handler.ts'
import { type Attempt, type Ending, type Sender, UNSENT } from './sender.ts'

export interface DeliveryOptions {
  readonly settings: ResolvedSettings
  readonly line: Line
  /** Includes the commas between the messages. */
  readonly maxMessagesBytes: number
  readonly sender: Sender
  readonly credentials: Credentials
  readonly clock: Clock
  /** Default: a process warning. */
  readonly warn?: Warn
  /** Called when no request will be sent for `waitMs`. Must not throw. */
  readonly onPause?: (waitMs: number) => void
  readonly observer: OutageObserver
  readonly outcomes: ResultHandlerOptions['outcomes']
}

/** Sends the queued events in groups (ranges) when the `Gate` allows it, and passes each result to the `ResultHandler`. */
export class Delivery {
  readonly #options: DeliveryOptions
  readonly #gate: Gate
  /** The ranges of the requests in flight, without abandoned ranges. */
  readonly #inFlight = new Set<Range>()
  readonly #resends = new Resends()
  readonly #outage: Outage
  readonly #limit: BodyLimit
  readonly #results: ResultHandler
  /** A request contains events of many callers, so the HTTP client must not run in the asynchronous context of one caller. */
  readonly #asyncContext = new AsyncResource('Trackpost')
  /** Whether nothing can be sent before the next response or timer. New events then do not start a request. */
  #isBlocked = false
  #cancelInterval: (() => void) | undefined
  #wakeUp: { readonly atMs: number; readonly cancel: () => void } | undefined
  #hasWarnedOfFault = false
  /** Whether the last probe (the single request after a pause) had no events. */
  #wasEmpty = false

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
      observer: options.observer,
      outcomes: options.outcomes,
    })
    line.onTurn = (isNearlyFull) => this.#onTurn(isNearlyFull)
  }

  /** Requests in flight, including those that wait for an access token. */
  get inFlight(): number {
    return this.#inFlight.size
  }

  get pausedMs(): number {
    return this.#gate.pausedMs
  }

  /** The events that wait to be sent or to be sent again, and the bytes of their messages. */
  get waiting(): { readonly count: number; readonly bytes: number } {
    const { length, bytes } = this.#options.line.ready
    const parts = countWaiting([...this.#resends.ranges, ...[...this.#inFlight].map(({ next }) => next)])
    return { count: length + parts.count, bytes: bytes + parts.bytes }
  }

  /** See {@link Outage.toError}. */
  trouble(code: FailureCode): DeliveryError | undefined {
    return this.#outage.toError(code)
  }

  /** See {@link Outage.await}. */
  await(seq: number): () => void {
    return this.#outage.await(seq)
  }

  /** Sends all waiting events as soon as the gate allows it. */
  flush(): void {
    this.#options.line.makeAllDue()
    this.#pump()
  }

  /**
   * Ends all events with `error`, aborts requests in flight and cancels all timers.
   *
   * @param isGone Whether the runtime has already stopped the requests in flight.
   */
  abandon(error: DeliveryError, isGone = false): void {
    // All events are taken out before the first outcome is reported: a callback that calls flush must find nothing to send.
    const ranges = [...this.#inFlight, ...this.#resends.takeAll()]
    const items = [...ranges.flatMap((range) => range.takeAll()), ...this.#options.line.takeAll()]
    this.#inFlight.clear()
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

  /** Sends everything that may be sent now. Never throws. */
  #pump(): void {
    try {
      if (!this.#outage.isQuiet) this.#results.expire(this.#options.clock.monotonic())
      this.#sendDue()
    } catch (error) {
      // For example, a test has mocked the clock and it throws. The next event, flush or response tries again.
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
      const range = this.#next(pass)
      void this.#asyncContext.runInAsyncScope(() => this.#attempt(range, pass))
    }
    this.#wakeUpAt(Number.POSITIVE_INFINITY)
  }

  /**
   * Takes the range to send next, usually the oldest. During an outage, it is a range with the fewest attempts, so that events
   * that make the service fail do not block the other events.
   *
   * With `maxConcurrentRequests: 1`, it is always the oldest, to keep the order of the events. To find out whether the events
   * make the service fail, every second probe of a longer outage then has no events.
   */
  #next(pass: Pass): Range {
    const { line, settings } = this.#options
    const isOrdered = settings.maxConcurrentRequests === 1
    this.#wasEmpty = isOrdered && pass.isProbe && this.#results.mayAsk && !this.#wasEmpty
    if (this.#wasEmpty) return new Range([])
    const { ready } = line
    const [resend] = this.#resends.ranges
    const first = ready.isDue ? ready.first : undefined
    const isFair = this.#outage.failures > 0 && !isOrdered
    const fresh = isFair && first !== undefined ? line.freshest : first
    const isResendNext =
      resend !== undefined &&
      (fresh === undefined || (isFair ? resend.attempts <= fresh.attempts : resend.order < fresh.order))
    if (isResendNext) return this.#resends.take()
    return new Range(line.take(this.#limit.bytes, settings.maxRequestEvents, fresh))
  }

  /** Sets the timer for this time, or for the expiry of the next event, if that is earlier. */
  #wakeUpAt(gateOpensAtMs: number): void {
    const isWaiting = this.#resends.ranges.length + this.#options.line.ready.length > 0
    const atMs = isWaiting ? Math.min(gateOpensAtMs, this.#outage.nextExpiryMs) : Number.POSITIVE_INFINITY
    // A timer for the same time is not replaced: with fake timers in a test, the new timer would wait too long.
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

  /** Never rejects. */
  async #attempt(range: Range, pass: Pass): Promise<void> {
    this.#inFlight.add(range)
    const mayGo = (): boolean => this.#inFlight.has(range) && this.#gate.isCurrent(pass)
    let attempt: Attempt | undefined
    try {
      let ending: Ending
      const given = this.#authorization()
      // No `await` when the value is at hand, so that the request is sent within this turn.
      const isAtHand = !(given instanceof Promise)
      const authorization = isAtHand ? given : await given
      if (typeof authorization !== 'string') ending = { action: 'unsent', error: authorization }
      // While the credentials were fetched, the range was abandoned, or an outage or a rate limit began.
      else if (!isAtHand && !mayGo()) ending = UNSENT
      else {
        attempt = this.#options.sender.send(range, authorization, mayGo)
        ending = await attempt.result
      }
      if (this.#inFlight.delete(range)) this.#conclude(range, pass, ending)
      // The range was abandoned, so its result is ignored. The next request becomes the probe.
      else this.#gate.probe(pass)
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

  /** The `Authorization` header, or the error that explains why there is none. */
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
    if (ending.action !== 'unsent') return this.#results.handle(range, pass, ending)
    const { error } = ending
    if (error === undefined) {
      if (pass.isProbe) this.#gate.probe(pass)
      return this.#resends.add(range)
    }
    range.failure = () => error
    this.#results.refuseSettings(range, pass, 'auth', 'token')
  }

  /** Handles an unexpected error in `#attempt`: the range is sent again, or its events get their outcome. */
  #contain(range: Range, pass: Pass, error: unknown): void {
    this.#warnOfFault(error)
    try {
      const message = `no attempt could be made: ${describeCause(error)}`
      this.#results.handleFault(range, pass, (code) => new DeliveryError(code, message))
    } catch {
      // The clock itself throws. The range is queued again, without a wait.
      if (range.items.length > 0) this.#resends.add(range)
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
