import { DeliveryError, type FailureCode } from '../errors/errors.ts'
import { type Item, isAwaited } from '../line/item.ts'
import type { Line } from '../line/line.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import { inferFromDelivery, proceed, type Refusal, refuse } from './bisection.ts'
import type { Gate, Pass } from './gate.ts'
import type { Outage } from './outage.ts'
import type { BodyLimit, Range, Resends } from './range.ts'
import type { SendResult, ToError } from './result.ts'

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
  /** Tells of an outage as it begins, as it is refused, and as it ends. Must not throw. */
  readonly observer: OutageObserver
  /**
   * Takes the outcome of each event, exactly once and while its message is still stored: delivered without an error.
   * Never throws.
   */
  readonly outcomes: { settle(item: Item, error: DeliveryError | undefined): void }
}

/** Listeners of an outage. */
export interface OutageObserver {
  /** It has lasted for so many failures that nobody waits any more. */
  onOutage(durationMs: number, problem: string): void
  /** A service that has accepted requests refuses the settings. Told for each kind of refusal. */
  onRefusal(problem: string): void
  /** Requests are accepted again. */
  onRecovery(durationMs: number): void
}

/** Decides what becomes of a range once it is known how a request ended: the outcomes of its events, or another request. */
export class ResultHandler {
  readonly #options: ResultHandlerOptions
  /** Requests that the service has accepted. */
  #accepted = 0
  readonly #refusals = new Set<string>()
  #isOutageTold = false

  constructor(options: ResultHandlerOptions) {
    this.#options = options
  }

  handle(range: Range, pass: Pass, result: SendResult): void {
    const { limit, gate, resends } = this.#options
    const { action, waitMs } = result
    if (action !== 'delivered') range.failure = result.toError
    switch (action) {
      case 'delivered':
        this.#accepted++
        this.#succeed(pass)
        if (limit.bytes < limit.maxBytes) limit.succeed()
        if (waitMs !== undefined && waitMs > 0) gate.rest(pass, waitMs)
        if (range.next !== undefined) inferFromDelivery(range.next)
        return this.#settle(range, undefined)
      case 'retry':
        return this.#retry(range, pass, result)
      case 'limited':
        return this.#wait(range, pass, waitMs)
      case 'split':
        return this.#shrink(range, pass)
      case 'refuse':
        this.#succeed(pass)
        return this.#follow(refuse(range, result.text))
      case 'resend':
        this.#succeed(pass)
        return resends.add(range)
      case 'renew':
        if (!this.#mayRenew(range)) return this.refuse(range, pass, 'auth', 'unrenewable')
        gate.succeed(pass)
        range.isRenewed = true
        return resends.add(range)
      case 'auth':
        return this.refuse(range, pass, action, String(result.status))
      case 'address':
        return this.refuse(range, pass, 'rejected', String(result.status))
      case 'rejected':
        this.#succeed(pass)
        return this.#settle(range, errorOf(range, action))
    }
  }

  /** Something on this side threw. It counts like a network error: the events have their next request after a wait. */
  handleFault(range: Range, pass: Pass, toError: ToError): void {
    if (range.items.length === 0) return this.#options.gate.probe(pass)
    range.failure = toError
    this.#later(range, pass, undefined, undefined)
  }

  /**
   * The service refuses the address or the credentials, which says nothing about the events. Before it has accepted anything
   * the settings are wrong, and no wait makes them right.
   *
   * @param kind Tells refusals apart.
   */
  refuse(range: Range, pass: Pass, code: 'auth' | 'rejected', kind: string): void {
    const { gate, settings, observer } = this.#options
    if (this.#accepted === 0 && settings.spool === undefined) {
      gate.succeed(pass)
      return this.#settle(range, errorOf(range, code))
    }
    if (!this.#refusals.has(kind)) {
      this.#refusals.add(kind)
      observer.onRefusal(errorOf(range, code).message)
    }
    this.#later(range, pass, undefined, code)
  }

  /** Gives up what has waited too long. The error names the setting that says so. */
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
          const limited = deadline === outage.rateLimit ? outage.toLimitError('deadline') : undefined
          const error = limited ?? this.#lastError('deadline')
          const message = `${error.message}; given up after ${settings[name]} s (${name})`
          return new DeliveryError(error.code, message, error)
        },
      )
    }
  }

  /** Each failed request counts. What a spool keeps does not hurry: it ends with its time alone. */
  get #isLiteral(): boolean {
    const { isMaxRetriesGiven, spool } = this.#options.settings
    return isMaxRetriesGiven && spool === undefined
  }

  #succeed(pass: Pass): void {
    const { clock, gate, outage, observer } = this.#options
    if (!gate.succeed(pass) || outage.isQuiet) return
    outage.end()
    if (!this.#isOutageTold) return
    this.#isOutageTold = false
    observer.onRecovery(clock.monotonic() - outage.sinceMs)
  }

  #retry(range: Range, pass: Pass, result: SendResult): void {
    const { gate, outage, resends } = this.#options
    // A kept-alive connection that the server had just closed says nothing about the service: try again at
    // once, once, uncounted. After an outage has begun, it is one failure like any other.
    if (result.isConnectionLost && !range.isFreeRetryUsed && gate.isOpenFor(pass)) {
      range.isFreeRetryUsed = true
      outage.note(result.toError)
      return resends.add(range)
    }
    this.#later(range, pass, result.waitMs, undefined)
  }

  #wait(range: Range, pass: Pass, waitMs: number | undefined): void {
    if (waitMs === undefined) return this.#later(range, pass, undefined, undefined)
    const { clock, gate, line, outage } = this.#options
    gate.limit(pass, waitMs)
    this.#giveBack(range)
    outage.limit(line.ready.dueOrder, clock.monotonic(), range.failure)
  }

  /** The request failed: its events are sent again after a wait, unless they have been often enough. */
  #later(range: Range, pass: Pass, floorMs: number | undefined, code: FailureCode | undefined): void {
    const { settings, clock, gate, outage, line, observer } = this.#options
    const { maxRetries } = settings
    const isLiteral = this.#isLiteral
    // The service took what was sent before this: it is there, and this request may be what it cannot take.
    const isAlone = this.#accepted > 0 && outage.failures === 0 && gate.isCurrent(pass)
    const isNew = gate.fail(pass, floorMs)
    const toError = range.failure as ToError
    if (isLiteral || isAlone) for (const item of range.items) item.retries++
    const isTooMany = ({ retries }: Item): boolean => retries > maxRetries
    const isEnough = (isLiteral || isAlone) && range.items.some(isTooMany)
    const ended: Item[] = []
    if (isEnough && (isLiteral || range.items.length === 1)) ended.push(...range.drop(isTooMany))
    else if (isEnough) this.#options.resends.add(range.split())
    if (!isEnough || ended.length > 0) this.#giveBack(range)
    const { dueOrder } = line.ready
    const nowMs = clock.monotonic()
    if (isNew) outage.fail(dueOrder, nowMs, toError, code)
    if (outage.failures > maxRetries && !this.#isOutageTold) {
      this.#isOutageTold = true
      observer.onOutage(nowMs - outage.sinceMs, toError('retries_exhausted').message)
    }
    const error = ended.length > 0 ? toError(code ?? 'retries_exhausted') : undefined
    for (const item of ended) this.end(item, error)
    this.#endExhausted()
  }

  /** In an outage, whoever waits for an event is told after as many failures as it would have had requests. */
  #endExhausted(): void {
    const { settings, outage } = this.#options
    const upTo = outage.exhaustedUpTo
    if (upTo === undefined || this.#isLiteral || settings.spool !== undefined) return
    const { awaitedUpTo } = outage
    this.#endAll(
      (item) => item.order <= upTo && (isAwaited(item) || item.seq <= awaitedUpTo),
      upTo,
      () => this.#lastError('retries_exhausted'),
    )
  }

  /** Ends what waits and is meant. All is taken out before the first outcome is told: a callback may flush. */
  #endAll(isMeant: (item: Item) => boolean, upTo: number, toError: () => DeliveryError): void {
    const { line, resends } = this.#options
    const items = [...resends.drop(isMeant), ...line.find(upTo, isMeant)]
    if (items.length === 0) return
    const error = toError()
    for (const item of items) line.leave(item)
    for (const item of items) this.end(item, error)
  }

  #lastError(code: FailureCode): DeliveryError {
    return this.#options.outage.toError(code) ?? new DeliveryError(code, 'the service failed')
  }

  /** A part is sent again as it is; the events of a whole range wait with the others, in their places. */
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

  /** Once, for what has not failed: from then on a new token is tried by the next request, after a wait. */
  #mayRenew({ isRenewed, items }: Range): boolean {
    return !isRenewed && this.#options.outage.failures === 0 && items.every(({ retries }) => retries === 0)
  }

  #settle(range: Range, error: DeliveryError | undefined): void {
    // The rest is in its place before the first outcome is told: a callback may flush, or close.
    const failed = range.next === undefined ? [] : this.#continue(proceed(range.next))
    this.#end(range, error)
    for (const [part, partError] of failed) this.#end(part, partError)
  }

  #follow({ failed, next }: Refusal): void {
    const errors = failed.map((part) => [part, errorOf(part, 'rejected')] as const)
    const further = this.#continue(proceed(next))
    for (const [part, error] of [...errors, ...further]) this.#end(part, error)
  }

  /** Has the next part of a chain sent, and returns those that fail without. */
  #continue({ failed, next }: Refusal): (readonly [Range, DeliveryError])[] {
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

  /** Gives one event its outcome: delivered without an error. */
  end(item: Item, error: DeliveryError | undefined): void {
    const { line, outcomes } = this.#options
    // Its room is free before it is told of: a callback may track again.
    line.leave(item)
    outcomes.settle(item, error)
    line.release(item)
  }
}

function errorOf({ failure }: Range, code: FailureCode): DeliveryError {
  return failure?.(code) ?? new DeliveryError(code, 'it was never sent')
}
