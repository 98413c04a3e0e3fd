import { DeliveryError, type FailureCode } from '../errors/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { Batch } from './batch.ts'
import type { BodyLimit } from './body-limit.ts'
import type { Gate, Pass } from './gate.ts'
import { inferFromDelivery, proceed, type Refusal, refuse } from './refusal.ts'
import type { SendResult, ToError } from './result.ts'
import type { Retries } from './retries.ts'
import type { Holder } from './store.ts'

export interface ResultHandlerOptions<Entry extends Holder> {
  readonly settings: Pick<ResolvedSettings, 'maxRetries' | 'maxTotalBackoffDuration' | 'maxRateLimitDuration'>
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
    if (batch.retries >= settings.maxRetries) return this.fail(batch, 'retries_exhausted')
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

  /** Ends a batch and all parts that come after it. */
  abandon(batch: Batch<Entry>, error: DeliveryError): void {
    for (let part: Batch<Entry> | undefined = batch; part !== undefined; ) {
      const { next }: Batch<Entry> = part
      this.#end(part, error)
      part = next
    }
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
    if (batch.retries >= settings.maxRetries) return this.fail(batch, 'retries_exhausted')
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
