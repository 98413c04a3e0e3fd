import { DeliveryError, type FailureCode } from '../errors/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { Batch, BodyLimit } from './batch.ts'
import { inferFromDelivery, proceed, type Refusal, refuse } from './bisection.ts'
import type { Gate, Pass } from './gate.ts'
import type { SendResult, ToError } from './result.ts'
import type { Holder } from './store.ts'

/** Batches that were sent and are to be sent again, in the order in which they were cut. */
export class Retries<Entry extends Holder> {
  readonly #batches: Batch<Entry>[] = []

  get size(): number {
    return this.#batches.length
  }

  get all(): readonly Batch<Entry>[] {
    return this.#batches
  }

  /** The oldest one. */
  get oldest(): Batch<Entry> | undefined {
    return this.#batches[0]
  }

  /** The one with the most retries left; of several, the oldest. */
  get freshest(): Batch<Entry> | undefined {
    let freshest = this.#batches[0]
    for (const batch of this.#batches) if (batch.retries < (freshest?.retries ?? 0)) freshest = batch
    return freshest
  }

  /** When the time of the next batch is over; infinite when none has a limit. */
  get nextExpiryMs(): number {
    let earliest = Number.POSITIVE_INFINITY
    for (const { expiresAtMs } of this.#batches) earliest = Math.min(earliest, expiresAtMs)
    return earliest
  }

  /** Adds a batch in its place. Does nothing when it is there. */
  add(batch: Batch<Entry>): void {
    const { sequence } = batch.origin
    let index = this.#batches.length
    while (index > 0 && (this.#batches[index - 1]?.origin.sequence ?? 0) >= sequence) index--
    if (this.#batches[index] !== batch) this.#batches.splice(index, 0, batch)
  }

  /** Takes a batch out. */
  remove(batch: Batch<Entry>): void {
    const index = this.#batches.indexOf(batch)
    if (index >= 0) this.#batches.splice(index, 1)
  }

  /** Takes one batch whose time is over. */
  takeExpired(nowMs: number): Batch<Entry> | undefined {
    const expired = this.#batches.find(({ expiresAtMs }) => expiresAtMs <= nowMs)
    if (expired !== undefined) this.remove(expired)
    return expired
  }

  takeAll(): Batch<Entry>[] {
    return this.#batches.splice(0)
  }
}

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
        if (batch.next !== undefined) inferFromDelivery(batch.next)
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
    const failed = batch.next === undefined ? [] : this.#continue(proceed(batch.next))
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
