import { DeliveryError, type FailureCode } from '../errors/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { Batch, BodyLimit, Retries } from './batch.ts'
import type { Gate, Pass } from './gate.ts'
import type { SendResult, ToError } from './result.ts'
import type { Holder } from './store.ts'

export interface ResultHandlerOptions<Entry extends Holder> {
  readonly settings: Pick<
    ResolvedSettings,
    'maxRetries' | 'maxTotalBackoffDuration' | 'maxRateLimitDuration' | 'spool'
  >
  readonly clock: Pick<Clock, 'monotonic'>
  readonly gate: Gate
  readonly limit: BodyLimit
  readonly retries: Retries<Entry>
  /** Takes the outcome of one event: delivered without an error. */
  readonly end: (entry: Entry, error: DeliveryError | undefined, attempts: number) => void
}

/** Decides what becomes of a batch once it is known how an attempt ended: its outcome, or another attempt. */
export class ResultHandler<Entry extends Holder> {
  readonly #options: ResultHandlerOptions<Entry>
  /** Requests that the service has accepted. */
  #accepted = 0

  constructor(options: ResultHandlerOptions<Entry>) {
    this.#options = options
  }

  handle(batch: Batch<Entry>, pass: Pass, result: SendResult): void {
    const { gate, limit, retries } = this.#options
    if (result.status !== 'delivered') batch.failure = result.toError
    switch (result.status) {
      case 'delivered':
        this.#accepted++
        gate.succeed(pass)
        limit.succeed()
        if (result.restMs !== undefined && result.restMs > 0) gate.rest(pass, result.restMs)
        inferFromDelivery(batch)
        return this.#settle(batch, undefined)
      case 'retry':
        return this.#retry(batch, pass, result.floorMs, result.isConnectionLost)
      case 'limited':
        return this.#wait(batch, pass, result.waitMs)
      case 'split':
        if (result.cause === 'too_large') return this.#shrink(batch, pass)
        gate.succeed(pass)
        return this.#follow(refuse(batch, result.text))
      case 'resend':
        gate.succeed(pass)
        return retries.add(batch)
      case 'renew':
        gate.succeed(pass)
        if (!this.#mayRenew(batch)) return this.fail(batch, 'auth')
        batch.renewedAt = this.#accepted
        return retries.add(batch)
      case 'failed':
        gate.succeed(pass)
        return this.fail(batch, result.code)
    }
  }

  /** Something on this side threw. It counts like a network error: the batch has its next attempt after a wait. */
  handleFault(batch: Batch<Entry>, pass: Pass, toError: ToError): void {
    const { settings, clock, gate, retries } = this.#options
    if (batch.isSettled) return gate.probe(pass)
    batch.failure = toError
    if (this.#isExhausted(batch)) return this.fail(batch, 'retries_exhausted')
    // First what cannot throw: the batch is in its place even if the clock is what failed.
    batch.retries++
    retries.add(batch)
    gate.fail(pass)
    batch.backoffUntilMs ??= clock.monotonic() + settings.maxTotalBackoffDuration * 1_000
  }

  /** Ends this part of a batch with the error that its last response stands for. */
  fail(batch: Batch<Entry>, code: FailureCode): void {
    this.#settle(batch, errorOf(batch, code))
  }

  /** Ends this part of a batch because its time is over; the error names the setting that says so. */
  expire(batch: Batch<Entry>): void {
    const { backoffUntilMs = Number.POSITIVE_INFINITY, limitedUntilMs = Number.POSITIVE_INFINITY } = batch
    const name = limitedUntilMs < backoffUntilMs ? 'maxRateLimitDuration' : 'maxTotalBackoffDuration'
    const error = errorOf(batch, 'deadline')
    const message = `${error.message}; given up after ${this.#options.settings[name]} s (${name})`
    this.#settle(batch, new DeliveryError('deadline', message, error))
  }

  /** Ends a batch and all parts that come after it. */
  abandon(batch: Batch<Entry>, error: DeliveryError): void {
    for (let part: Batch<Entry> | undefined = batch; part !== undefined; ) {
      const { next }: Batch<Entry> = part
      this.#end(part, error)
      part = next
    }
  }

  /** What a spool keeps does not hurry: it ends with its time alone. */
  #isExhausted({ retries }: Batch<Entry>): boolean {
    const { maxRetries, spool } = this.#options.settings
    return spool === undefined && retries >= maxRetries
  }

  #retry(batch: Batch<Entry>, pass: Pass, floorMs: number | undefined, isConnectionLost: boolean): void {
    const { settings, clock, gate, retries } = this.#options
    // A kept-alive connection that the server had just closed says nothing about the service: try again at
    // once, once, uncounted. After an outage has begun, it is one failure like any other.
    if (isConnectionLost && !batch.isFreeRetryUsed && gate.isOpenFor(pass)) {
      batch.isFreeRetryUsed = true
      return retries.add(batch)
    }
    gate.fail(pass, floorMs)
    if (this.#isExhausted(batch)) return this.fail(batch, 'retries_exhausted')
    batch.retries++
    batch.backoffUntilMs ??= clock.monotonic() + settings.maxTotalBackoffDuration * 1_000
    retries.add(batch)
  }

  #wait(batch: Batch<Entry>, pass: Pass, waitMs: number | undefined): void {
    if (waitMs === undefined) return this.#retry(batch, pass, undefined, false)
    const { settings, clock, gate, retries } = this.#options
    gate.limit(pass, waitMs)
    batch.limitedUntilMs ??= clock.monotonic() + settings.maxRateLimitDuration * 1_000
    retries.add(batch)
  }

  #shrink(batch: Batch<Entry>, pass: Pass): void {
    const { gate, limit, retries } = this.#options
    const { origin } = batch
    gate.refuseSize(pass)
    if (batch.length === 1) {
      if (origin.bytesBefore413 !== undefined) limit.restore(origin.bytesBefore413)
      return this.fail(batch, 'too_large')
    }
    origin.bytesBefore413 ??= limit.bytes
    limit.shrink(batch.bytes)
    retries.add(batch.split(batch.countWithin(limit.bytes)))
  }

  /** The first renewal is free. Another one is worth its retry only when credentials have worked meanwhile. */
  #mayRenew(batch: Batch<Entry>): boolean {
    if (batch.renewedAt === undefined) return true
    if (batch.renewedAt === this.#accepted || batch.retries >= this.#options.settings.maxRetries) return false
    batch.retries++
    return true
  }

  #settle(batch: Batch<Entry>, error: DeliveryError | undefined): void {
    // What comes next is in its place before the first outcome is told: a callback may flush, or close.
    const failed = this.#continue(proceed(batch.next))
    this.#end(batch, error)
    for (const [part, partError] of failed) this.#end(part, partError)
  }

  #follow({ failed, next }: Refusal<Entry>): void {
    const errors = failed.map((part) => [part, errorOf(part, 'rejected')] as const)
    const further = this.#continue(proceed(next))
    for (const [part, error] of [...errors, ...further]) this.#end(part, error)
  }

  /** Has the next part of a chain sent, and returns those that fail without. */
  #continue({ failed, next }: Refusal<Entry>): (readonly [Batch<Entry>, DeliveryError])[] {
    const { limit, retries } = this.#options
    if (next !== undefined) {
      const count = next.countWithin(limit.bytes)
      retries.add(count < next.length ? next.split(count) : next)
    }
    return failed.map((part) => [part, errorOf(part, 'rejected')] as const)
  }

  #end(batch: Batch<Entry>, error: DeliveryError | undefined): void {
    const { attempts } = batch
    for (const entry of batch.settle()) this.#options.end(entry, error, attempts)
  }
}

function errorOf<Entry extends Holder>(batch: Batch<Entry>, code: FailureCode): DeliveryError {
  return batch.failure?.(code) ?? new DeliveryError(code, 'it was never sent')
}

/** How many requests one batch may cost more because the service refused it or parts of it. */
export const MAX_ADDED_REQUESTS = 24

/** What to do about a batch that was refused. */
export interface Refusal<Entry extends Holder> {
  /** These fail: the event that was refused alone, or all that there are. */
  readonly failed: readonly Batch<Entry>[]
  /** This part is sent next. */
  readonly next: Batch<Entry> | undefined
}

/**
 * One bad event must not cost its neighbours: halves what was refused, until the bad one stands alone.
 *
 * The first two halves are sent one right after the other. When both are refused with the same text, no event is at
 * fault, and all fail. From then on the parts go in the order of their events.
 *
 * @param text What the service said.
 * @see docs/spec.md, section 8
 */
export function refuse<Entry extends Holder>(batch: Batch<Entry>, text: string): Refusal<Entry> {
  const { origin, next } = batch
  if (batch.half === 'first') origin.firstHalfRefusal = text
  const isWaitingFirst = next?.half === 'first' && next.knownBad === 'sent'
  if (batch.half === 'second' && origin.firstHalfRefusal === text) {
    return isWaitingFirst ? { failed: [batch, next], next: next.next } : { failed: [batch], next }
  }
  if (batch.length === 1) return { failed: [batch], next }
  batch.knownBad = 'sent'
  if (batch.half === 'first' && next?.half === 'second') return { failed: [], next: swap(batch, next) }
  if (batch.half === 'second' && isWaitingFirst) return proceed(swap(batch, next))
  return proceed(batch)
}

/**
 * The part that is sent next: a part that is known to hold a bad event is halved first, without being sent.
 *
 * @param batch The start of a chain.
 */
export function proceed<Entry extends Holder>(batch: Batch<Entry> | undefined): Refusal<Entry> {
  const failed: Batch<Entry>[] = []
  let next = batch
  while (next?.knownBad !== undefined && next.length > 1) {
    const halved = halve(next)
    if (halved !== undefined) return { failed, next: halved }
    // No request is left to look for the bad event. What was not sent since may still be sent as a whole.
    if (next.knownBad === 'inferred') break
    failed.push(next)
    next = next.next
  }
  return { failed, next }
}

/** A part of the chain was delivered: when it was one half of what was refused, the bad event is in the other. */
export function inferFromDelivery<Entry extends Holder>({ next }: Batch<Entry>): void {
  if (next?.isSecondOfPair) next.knownBad ??= 'inferred'
}

function halve<Entry extends Holder>(batch: Batch<Entry>): Batch<Entry> | undefined {
  const { origin } = batch
  // A part that was not sent has its own request to spare.
  const cost = batch.knownBad === 'sent' ? 2 : 1
  if (origin.addedRequests + cost > MAX_ADDED_REQUESTS) return undefined
  const isFirst = origin.addedRequests === 0
  origin.addedRequests += cost
  const first = batch.split()
  const second = first.next as Batch<Entry>
  second.isSecondOfPair = true
  if (isFirst) {
    first.half = 'first'
    second.half = 'second'
  }
  return first
}

/** Puts the second of two before the first. */
function swap<Entry extends Holder>(first: Batch<Entry>, second: Batch<Entry>): Batch<Entry> {
  first.next = second.next
  second.next = first
  first.isSecondOfPair = false
  second.isSecondOfPair = false
  return second
}
