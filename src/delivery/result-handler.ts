import { DeliveryError, type FailureCode } from '../errors/errors.ts'
import type { Item } from '../line/item.ts'
import type { Line } from '../line/line.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import { type Bisection, bisect, inferFromDelivery, proceed } from './bisection.ts'
import type { Gate, Pass } from './gate.ts'
import type { OutageObserver } from './observer.ts'
import type { Outage } from './outage.ts'
import type { BodyLimit, Range, Resends } from './range.ts'
import type { SendResult, ToError } from './send-result.ts'

export interface ResultHandlerOptions {
  readonly settings: Pick<
    ResolvedSettings,
    'isMaxRetriesGiven' | 'maxRetries' | 'maxTotalBackoffDuration' | 'maxRateLimitDuration' | 'spool'
  >
  readonly clock: Pick<Clock, 'monotonic'>
  readonly line: Line
  readonly gate: Gate
  readonly limit: BodyLimit
  readonly resends: Resends
  readonly outage: Outage
  readonly observer: OutageObserver
  /**
   * Receives the outcome of each event exactly once, while the message of the event is still stored. `undefined` as error means
   * delivered. Never throws.
   */
  readonly outcomes: { settle(item: Item, error: DeliveryError | undefined): void }
}

/** Handles the result of a request: the events of its range get their outcome or are sent again. */
export class ResultHandler {
  readonly #options: ResultHandlerOptions
  /** Number of requests that the service has accepted. */
  #accepted = 0
  readonly #refusals = new Set<string>()
  #isOutageReported = false
  /** Whether the service has just responded to a request without events, and so is not down. */
  #isUp = false
  /** Events that ran out of retries since a request with events last succeeded. */
  #givenUp = 0

  constructor(options: ResultHandlerOptions) {
    this.#options = options
  }

  handle(range: Range, pass: Pass, result: SendResult): void {
    const { limit, gate, resends } = this.#options
    const { action, waitMs } = result
    if (range.items.length === 0 && !['retry', 'limited', 'renew', 'auth', 'address'].includes(action)) {
      this.#isUp = true
      return gate.rest(pass, waitMs ?? 0)
    }
    if (action !== 'delivered') range.failure = result.toError
    switch (action) {
      case 'delivered':
        this.#accepted++
        this.#succeed(pass)
        limit.succeed()
        if (waitMs !== undefined && waitMs > 0) gate.rest(pass, waitMs)
        if (range.next !== undefined) inferFromDelivery(range.next)
        return this.#settle(range, undefined)
      case 'retry':
        return this.#retry(range, pass, result)
      case 'limited':
        return this.#wait(range, pass, waitMs)
      case 'split':
        return this.#shrink(range, pass)
      case 'bisect':
        this.#succeed(pass)
        return this.#follow(bisect(range, result.text))
      case 'resend':
        this.#succeed(pass)
        return resends.add(range)
      case 'renew':
        if (!this.#mayRenew(range)) return this.refuseSettings(range, pass, 'auth', 'unrenewable')
        gate.succeed(pass)
        range.isRenewed = true
        return resends.add(range)
      case 'auth':
        return this.refuseSettings(range, pass, action, String(result.status))
      case 'address':
        return this.refuseSettings(range, pass, 'rejected', String(result.status))
      case 'rejected':
        this.#succeed(pass)
        return this.#settle(range, errorOf(range, action))
    }
  }

  /** Code of this library threw an error. It is handled like a network error: the events are sent again after a wait. */
  handleFault(range: Range, pass: Pass, toError: ToError): void {
    if (range.items.length === 0) return this.#options.gate.probe(pass)
    range.failure = toError
    this.#later(range, pass, undefined, undefined)
  }

  /**
   * The service refuses the address or the credentials. Before the first accepted request, the settings are probably wrong, and
   * the events fail at once. With a spool, or after an accepted request, they wait.
   *
   * @param kind Each kind of refusal is reported once.
   */
  refuseSettings(range: Range, pass: Pass, code: 'auth' | 'rejected', kind: string): void {
    const { gate, settings, observer } = this.#options
    if (this.#accepted === 0 && settings.spool === undefined && range.items.length > 0) {
      gate.succeed(pass)
      return this.#settle(range, errorOf(range, code))
    }
    if (!this.#refusals.has(kind)) {
      this.#refusals.add(kind)
      observer.onRefusal(errorOf(range, code).message)
    }
    this.#later(range, pass, undefined, code)
  }

  /** Fails the events that have waited too long. */
  expire(nowMs: number): void {
    const { settings, outage } = this.#options
    const deadlines = [
      [outage.rateLimit, 'maxRateLimitDuration'],
      [outage.backoff, 'maxTotalBackoffDuration'],
    ] as const
    for (const [deadline, name] of deadlines) {
      const upTo = deadline.expiredUpTo(nowMs)
      if (upTo === 0) continue
      this.#endAll(
        ({ order }) => order <= upTo,
        upTo,
        () => {
          // Never `undefined`: an event waits only after a failure or a rate limit, and the outage keeps the error of each.
          const toError = deadline === outage.rateLimit ? 'toLimitError' : 'toError'
          const error = outage[toError]('deadline') as DeliveryError
          const message = `${error.message}; given up after ${settings[name]} s (${name})`
          return new DeliveryError(error.code, message, error)
        },
      )
    }
  }

  /**
   * Whether a probe without events may be sent, to find out whether the service is down or events make it fail. Not after more
   * than `maxRetries` events in a row ran out of retries.
   */
  get mayAsk(): boolean {
    const { outage, settings } = this.#options
    return outage.exhaustedUpTo !== undefined && !this.#countsInOutage && this.#givenUp <= settings.maxRetries
  }

  /** Whether each failed request counts as a retry of its events, also in an outage. */
  get #countsInOutage(): boolean {
    const { isMaxRetriesGiven, spool } = this.#options.settings
    return isMaxRetriesGiven && spool === undefined
  }

  #succeed(pass: Pass): void {
    const { clock, gate, outage, observer } = this.#options
    this.#givenUp = 0
    if (!gate.succeed(pass) || outage.isQuiet) return
    outage.end()
    if (!this.#isOutageReported) return
    this.#isOutageReported = false
    observer.onRecovery(clock.monotonic() - outage.sinceMs)
  }

  #retry(range: Range, pass: Pass, result: SendResult): void {
    const { gate, outage, resends } = this.#options
    // The server may have just closed an idle connection, which tells nothing about the service. The range is retried once,
    // immediately, and the failure is not counted. During an outage, a lost connection is a failure like any other.
    if (result.isConnectionLost && !range.isFreeRetryUsed && gate.isOpenFor(pass)) {
      range.isFreeRetryUsed = true
      outage.note(result.toError)
      return resends.add(range)
    }
    this.#later(range, pass, result.waitMs, undefined)
  }

  #wait(range: Range, pass: Pass, waitMs: number | undefined): void {
    // After a rate limit, an earlier response to a request without events no longer shows that the service is up.
    this.#isUp = false
    if (waitMs === undefined) return this.#later(range, pass, undefined, undefined)
    const { clock, gate, line, outage } = this.#options
    gate.limit(pass, waitMs)
    this.#giveBack(range)
    outage.limit(line.ready.dueOrder, clock.monotonic(), range.failure)
  }

  /**
   * The request failed, and its events are sent again after a wait. The failure counts as a retry of each event if
   * `#countsInOutage` is set, or if one of the events may be the cause. An event with more than `maxRetries` retries fails if
   * `#countsInOutage` is set or if it was alone in the request; otherwise the range is halved.
   *
   * @see docs/spec.md, section 8.1
   */
  #later(range: Range, pass: Pass, floorMs: number | undefined, code: FailureCode | undefined): void {
    const { settings, clock, gate, outage, line, observer } = this.#options
    const { maxRetries } = settings
    const countsInOutage = this.#countsInOutage
    // One of the events may be the cause if the service was up: it has not failed since it accepted a request, or it has just
    // responded to a request without events.
    const isSuspect =
      (this.#isUp && code === undefined) ||
      (this.#accepted > 0 && outage.failures === 0 && gate.isCurrent(pass))
    this.#isUp = false
    const isNew = gate.fail(pass, floorMs)
    const toError = range.failure as ToError
    const counts = countsInOutage || isSuspect
    if (counts) for (const item of range.items) item.retries++
    const isUsedUp = ({ retries }: Item): boolean => retries > maxRetries
    const hasUsedUp = counts && range.items.some(isUsedUp)
    const ended: Item[] = []
    if (hasUsedUp && (countsInOutage || range.items.length === 1)) ended.push(...range.drop(isUsedUp))
    else if (hasUsedUp) this.#options.resends.add(range.split())
    if (!hasUsedUp || ended.length > 0) this.#giveBack(range)
    const { dueOrder } = line.ready
    const nowMs = clock.monotonic()
    if (isNew) outage.fail(dueOrder, nowMs, toError, code)
    if (outage.failures > maxRetries && !this.#isOutageReported) {
      this.#isOutageReported = true
      observer.onOutage(nowMs - outage.sinceMs, toError('retries_exhausted').message)
    }
    this.#givenUp += ended.length
    const error = ended.length > 0 ? toError(code ?? 'retries_exhausted') : undefined
    for (const item of ended) this.end(item, error)
    this.#endExhausted()
  }

  /** In an outage, fails the awaited events that have seen `maxRetries` + 1 failures in a row. */
  #endExhausted(): void {
    const { settings, outage } = this.#options
    const upTo = outage.exhaustedUpTo
    if (upTo === undefined || this.#countsInOutage || settings.spool !== undefined) return
    const { awaitedUpTo } = outage
    this.#endAll(
      ({ order, seq, callback }) => order <= upTo && (callback !== undefined || seq <= awaitedUpTo),
      upTo,
      () => outage.toError('retries_exhausted') as DeliveryError,
    )
  }

  /**
   * Fails the waiting events for which `isMeant` returns `true`. All of them are taken out before the first outcome is
   * reported, because a callback may flush.
   */
  #endAll(isMeant: (item: Item) => boolean, upTo: number, toError: () => DeliveryError): void {
    const { line, resends } = this.#options
    const items = [...resends.drop(isMeant), ...line.find(upTo, isMeant)]
    if (items.length === 0) return
    const error = toError()
    for (const item of items) line.leave(item)
    for (const item of items) this.end(item, error)
  }

  /**
   * Queues the events of a failed request again. A part of a split range is kept as a whole; the events of other ranges go back
   * to their places in the line.
   */
  #giveBack(range: Range): void {
    const { line, resends } = this.#options
    if (range.items.length === 0) {
      const failed = range.next === undefined ? [] : this.#continue(proceed(range.next))
      for (const [part, error] of failed) this.#end(part, error)
    } else if (range.isPart) resends.add(range)
    else line.giveBack(range.take())
  }

  #shrink(range: Range, pass: Pass): void {
    const { gate, limit, resends } = this.#options
    const { origin } = range
    gate.refuseSize(pass)
    if (range.items.length === 1) {
      if (origin.bytesBefore413 !== undefined) limit.restore(origin.bytesBefore413)
      return this.#settle(range, errorOf(range, 'too_large'))
    }
    origin.bytesBefore413 ??= limit.bytes
    limit.shrink(range.bytes)
    resends.add(range.split(range.countWithin(limit.bytes)))
  }

  /** Whether the range may be sent again at once with a new access token: only once, and only if nothing has failed before. */
  #mayRenew({ isRenewed, items }: Range): boolean {
    return !isRenewed && this.#options.outage.failures === 0 && items.every(({ retries }) => retries === 0)
  }

  #settle(range: Range, error: DeliveryError | undefined): void {
    // The other parts are queued again before the first outcome is reported, because a callback may flush or close.
    const failed = range.next === undefined ? [] : this.#continue(proceed(range.next))
    this.#end(range, error)
    for (const [part, partError] of failed) this.#end(part, partError)
  }

  #follow({ failed, next }: Bisection): void {
    const further = proceed(next)
    const all = this.#continue({ failed: [...failed, ...further.failed], next: further.next })
    for (const [part, error] of all) this.#end(part, error)
  }

  /** Queues the next part of a chain. Returns the parts whose events fail now, with their errors. */
  #continue({ failed, next }: Bisection): (readonly [Range, DeliveryError])[] {
    const { limit, resends } = this.#options
    if (next !== undefined) {
      const count = next.countWithin(limit.bytes)
      resends.add(count < next.items.length ? next.split(count) : next)
    }
    return failed.map((part) => [part, errorOf(part, 'rejected')] as const)
  }

  #end(range: Range, error: DeliveryError | undefined): void {
    const { items } = range
    range.items = []
    for (const item of items) this.end(item, error)
  }

  end(item: Item, error: DeliveryError | undefined): void {
    const { line, outcomes } = this.#options
    // The room of the event in the line is freed before the outcome is reported, because a callback may track again.
    line.leave(item)
    outcomes.settle(item, error)
    line.release(item)
  }
}

function errorOf({ failure }: Range, code: FailureCode): DeliveryError {
  return failure?.(code) ?? new DeliveryError(code, 'it was never sent')
}
