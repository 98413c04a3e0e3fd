import type { Credentials } from '../auth/credentials.ts'
import { DeliveryError, type FailureCode, isInstance } from '../errors/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { Sender } from './attempt.ts'
import type { Backlog } from './backlog.ts'
import { Batch } from './batch.ts'
import { Gate, type Pass } from './gate.ts'
import type { SendResult } from './result.ts'
import { Retries } from './retries.ts'
import type { Holder } from './store.ts'

export interface DeliveryOptions<Entry extends Holder> {
  readonly settings: ResolvedSettings
  readonly backlog: Backlog<Entry>
  /** Bound on the messages of one request, with the commas between them. */
  readonly maxMessagesBytes: number
  readonly sender: Sender
  readonly credentials: Credentials
  readonly clock: Clock
  /**
   * Takes the outcome of one event: delivered without an error. Called exactly once for each, while its message is
   * still stored. Never throws.
   */
  readonly settle: (entry: Entry, error: DeliveryError | undefined, attempts: number) => void
}

/**
 * From the backlog to the outcome: cuts batches, sends them when the gate lets them, and settles or tries again.
 *
 * At most `maxConcurrentRequests` batches are open at a time, in flight or waiting for a retry; all other events wait in
 * the backlog, which is bounded.
 */
export class Delivery<Entry extends Holder> {
  readonly #options: DeliveryOptions<Entry>
  readonly #gate: Gate
  readonly #inFlight = new Set<Batch<Entry>>()
  readonly #retries = new Retries<Entry>()
  /** What the service takes in one request, as far as its 413s have shown. */
  #maxMessagesBytes: number
  /** Nothing can go before a response or a timer comes, so that new events need not ask. */
  #isBlocked = false
  #cancelInterval: (() => void) | undefined
  #cancelWakeUp: (() => void) | undefined

  constructor(options: DeliveryOptions<Entry>) {
    this.#options = options
    this.#gate = new Gate(options.settings.maxConcurrentRequests, options.clock)
    this.#maxMessagesBytes = options.maxMessagesBytes
    options.backlog.onTurn = () => this.#onTurn()
  }

  /** Sends all that waits as soon as the gate lets it. */
  flush(): void {
    this.#options.backlog.makeAllDue()
    this.#pump()
  }

  /** Ends every event that has no outcome yet, aborts what is in flight, and leaves no timer behind. */
  abandon(error: DeliveryError): void {
    // All is taken out before the first outcome is told: a callback may flush, and must find nothing to send.
    const batches = [...this.#inFlight, ...this.#retries.takeAll()]
    const waiting = this.#options.backlog.takeAll()
    this.#clearTimers()
    this.#isBlocked = false
    this.#options.sender.abort()
    for (const batch of batches) this.#settle(batch, error)
    for (const entry of waiting) this.#end(entry, error, 0)
  }

  #onTurn(): void {
    const { backlog, settings } = this.#options
    const { flushAt, maxQueueSize, maxQueueBytes, maxMessageBytes } = settings
    const { length, bytes } = backlog
    // A full body or a full backlog is reason enough as well: waiting longer gains nothing.
    const isFull = bytes >= this.#maxMessagesBytes || bytes + maxMessageBytes > maxQueueBytes
    if (isFull || length >= Math.min(flushAt, maxQueueSize)) backlog.makeAllDue()
    if (backlog.due > 0 && !this.#isBlocked) this.#pump()
    this.#armInterval()
  }

  #armInterval(): void {
    if (this.#options.backlog.length === 0) {
      this.#cancelInterval?.()
      this.#cancelInterval = undefined
    } else if (this.#cancelInterval === undefined) {
      this.#cancelInterval = this.#options.clock.setTimer(() => {
        this.#cancelInterval = undefined
        this.flush()
      }, this.#options.settings.flushInterval)
    }
  }

  #clearTimers(): void {
    this.#cancelInterval?.()
    this.#cancelWakeUp?.()
    this.#cancelInterval = undefined
    this.#cancelWakeUp = undefined
  }

  /** Sends whatever may go now. */
  #pump(): void {
    const wasBlocked = this.#isBlocked
    this.#isBlocked = false
    this.#expire()
    while (this.#retries.size > 0 || this.#options.backlog.due > 0) {
      const waitMs = this.#gate.waitMs()
      const batch = waitMs > 0 ? undefined : this.#next(wasBlocked)
      if (batch === undefined) {
        this.#isBlocked = true
        this.#wakeUpIn(waitMs)
        return
      }
      void this.#attempt(batch)
    }
    this.#wakeUpIn(Number.POSITIVE_INFINITY)
  }

  /**
   * The batch that goes next. After an outage it is the one with the most retries left, a new one if there
   * is a place for it: probing always with the same batch would use up its retries in seconds.
   */
  #next(wasBlocked: boolean): Batch<Entry> | undefined {
    const { backlog, settings } = this.#options
    const { maxConcurrentRequests, flushAt } = settings
    const hasPlace = this.#inFlight.size + this.#retries.size < maxConcurrentRequests
    const canCut = hasPlace && backlog.due > 0
    if (canCut && (this.#gate.isProbing || this.#retries.size === 0)) {
      // With `flushAt: 1` each event has a request of its own, for as long as requests keep up with events.
      const maxItems = flushAt === 1 && !wasBlocked ? 1 : Number.POSITIVE_INFINITY
      return new Batch(backlog.take(this.#maxMessagesBytes, maxItems))
    }
    return this.#gate.isProbing ? this.#retries.takeFreshest() : this.#retries.shift()
  }

  /** Wakes up when the gate opens or a batch's time is over, whichever comes first. */
  #wakeUpIn(waitMs: number): void {
    const { clock } = this.#options
    this.#cancelWakeUp?.()
    this.#cancelWakeUp = undefined
    const delayMs = Math.min(waitMs, this.#retries.nextExpiryMs - clock.monotonic())
    if (delayMs === Number.POSITIVE_INFINITY) return
    this.#cancelWakeUp = clock.setTimer(
      () => {
        this.#cancelWakeUp = undefined
        this.#pump()
      },
      Math.max(0, Math.ceil(delayMs)),
    )
  }

  #expire(): void {
    const nowMs = this.#options.clock.monotonic()
    // One at a time: the callback of one may flush, and find the others gone.
    for (;;) {
      const batch = this.#retries.takeExpired(nowMs)
      if (batch === undefined) return
      this.#fail(batch, 'deadline')
    }
  }

  async #attempt(batch: Batch<Entry>): Promise<void> {
    const { credentials, sender } = this.#options
    const pass = this.#gate.enter()
    this.#inFlight.add(batch)
    let authorization: string
    try {
      const given = credentials.authorization()
      // No await where the value is at hand: the request goes out in this very turn.
      authorization = typeof given === 'string' ? given : await given
    } catch (error) {
      this.#withdraw(batch, pass)
      if (!batch.isSettled) this.#settle(batch, toAuthError(error))
      this.#pump()
      return
    }
    // While the credentials were fetched, the batch was given up, or the gate shut.
    if (batch.isSettled || !this.#gate.isCurrent(pass)) {
      this.#withdraw(batch, pass)
      if (!batch.isSettled) this.#retries.unshift(batch)
      this.#pump()
      return
    }
    const attempt = sender.send(batch, authorization)
    const result = await attempt.result
    this.#inFlight.delete(batch)
    // Abandoned meanwhile. Should this have been the probe, the next request is.
    if (batch.isSettled) this.#gate.probe(pass)
    else this.#apply(batch, pass, result)
    this.#pump()
    await attempt.finished
    this.#gate.leave()
    this.#pump()
  }

  /** Gives up the place of a batch that was not sent. Should it have been the probe, the next one is. */
  #withdraw(batch: Batch<Entry>, pass: Pass): void {
    this.#inFlight.delete(batch)
    this.#gate.leave()
    if (pass.isProbe) this.#gate.probe(pass)
  }

  #apply(batch: Batch<Entry>, pass: Pass, result: SendResult): void {
    if (result.status !== 'delivered') batch.failure = result.toError
    switch (result.status) {
      case 'delivered':
        this.#gate.succeed(pass)
        if (result.restMs !== undefined && result.restMs > 0) this.#gate.rest(pass, result.restMs)
        return this.#settle(batch, undefined)
      case 'retry':
        return this.#retry(batch, pass, result.floorMs, result.isConnectionLost)
      case 'limited':
        return this.#wait(batch, pass, result.waitMs)
      case 'split':
        return this.#split(batch, pass)
      case 'renew':
        this.#gate.succeed(pass)
        if (batch.isRenewed) return this.#fail(batch, 'auth')
        batch.isRenewed = true
        return this.#retries.unshift(batch)
      case 'failed':
        this.#gate.succeed(pass)
        return this.#fail(batch, result.code)
    }
  }

  #retry(batch: Batch<Entry>, pass: Pass, floorMs: number | undefined, isConnectionLost: boolean): void {
    // A kept-alive connection that the server had just closed says nothing about the service: try again at
    // once, once, uncounted. After an outage has begun, it is one failure like any other.
    if (isConnectionLost && !batch.isFreeRetryUsed && this.#gate.isOpenFor(pass)) {
      batch.isFreeRetryUsed = true
      return this.#retries.unshift(batch)
    }
    const { settings, clock } = this.#options
    this.#gate.fail(pass, floorMs)
    if (batch.retries >= settings.maxRetries) return this.#fail(batch, 'retries_exhausted')
    batch.retries++
    batch.backoffUntilMs ??= clock.monotonic() + settings.maxTotalBackoffDuration * 1_000
    this.#retries.push(batch)
  }

  #wait(batch: Batch<Entry>, pass: Pass, waitMs: number | undefined): void {
    if (waitMs === undefined) return this.#retry(batch, pass, undefined, false)
    const { settings, clock } = this.#options
    this.#gate.limit(pass, waitMs)
    batch.limitedUntilMs ??= clock.monotonic() + settings.maxRateLimitDuration * 1_000
    this.#retries.push(batch)
  }

  /** Puts the events back and halves what a batch may hold, for this client's life. */
  #split(batch: Batch<Entry>, pass: Pass): void {
    const { entries } = batch
    if (entries.length === 1) {
      this.#gate.succeed(pass)
      return this.#fail(batch, 'too_large')
    }
    this.#maxMessagesBytes = Math.min(this.#maxMessagesBytes, Math.floor(batch.bytes / 2))
    this.#options.backlog.putBack(entries)
    this.#gate.probe(pass)
  }

  #fail(batch: Batch<Entry>, code: FailureCode): void {
    this.#settle(batch, batch.failure?.(code) ?? new DeliveryError(code, 'it was never sent'))
  }

  #settle(batch: Batch<Entry>, error: DeliveryError | undefined): void {
    batch.isSettled = true
    for (const entry of batch.entries) this.#end(entry, error, batch.attempts)
  }

  #end(entry: Entry, error: DeliveryError | undefined, attempts: number): void {
    this.#options.settle(entry, error, attempts)
    this.#options.backlog.release(entry)
  }
}

function toAuthError(error: unknown): DeliveryError {
  return isInstance(error, DeliveryError) ? error : new DeliveryError('auth', 'there are no credentials')
}
