import type { Credentials } from '../auth/credentials.ts'
import { isConnectionLost } from '../errors/cause.ts'
import { DeliveryError, type FailureCode, isInstance } from '../errors/errors.ts'
import { headerValue } from '../http/client.ts'
import type { Answer } from '../http/exchange.ts'
import { MAX_MESSAGE_BYTES } from '../message/serialize.ts'
import { classify } from '../policy/classify.ts'
import { type ReadHeader, rateLimitMs, retryAfterMs } from '../policy/retry-after.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ResolvedSettings } from '../settings.ts'
import { Batch, MAX_BODY_BYTES } from './batch.ts'
import { answerError } from './failure.ts'
import { Gate, type Pass } from './gate.ts'
import { Queue } from './queue.ts'
import type { Attempt, Sender } from './sender.ts'
import { Store, type Stored } from './store.ts'

export interface DeliveryOptions<Entry> {
  readonly settings: ResolvedSettings
  readonly url: string
  readonly sender: Sender
  readonly credentials: Credentials
  readonly clock: Clock
  /**
   * Takes the outcome of one event: delivered without an error. Called exactly once for each, while its message is
   * still stored. Never throws.
   */
  readonly settle: (entry: Entry, error: DeliveryError | undefined, attempts: number) => void
  /** Takes an event that had to make room for a newer one, while its message is still stored. */
  readonly displace: (entry: Entry, error: DeliveryError) => void
}

/**
 * From the queue to the outcome: cuts batches, sends them when the gate lets them, and settles or tries again.
 *
 * At most `maxConcurrentRequests` batches are open at a time, in flight or waiting for a retry; all other
 * events wait in the queue, which is bounded.
 */
export class Delivery<Entry extends Stored> {
  readonly #options: DeliveryOptions<Entry>
  readonly #gate: Gate
  readonly #queue = new Queue<Entry>()
  readonly #store = new Store()
  readonly #inFlight = new Set<Batch<Entry>>()
  /** Batches whose turn comes when the gate opens, the next one first. */
  readonly #retrying: Batch<Entry>[] = []
  /** How many events at the front of the queue are to be sent without waiting for more. */
  #due = 0
  /** What the service takes at the most, as far as its 413s have shown. */
  #maxMessagesBytes: number
  #isTurnScheduled = false
  /** Nothing can go before an answer or a timer comes, so that new events need not ask. */
  #isBlocked = false
  #cancelInterval: (() => void) | undefined
  #cancelWakeUp: (() => void) | undefined

  constructor(options: DeliveryOptions<Entry>) {
    this.#options = options
    this.#gate = new Gate(options.settings.maxConcurrentRequests, options.clock)
    this.#maxMessagesBytes = MAX_BODY_BYTES - options.sender.envelope.bytes
  }

  /**
   * Takes an event. Sending starts when the current turn of the event loop is over, so that the call stays short.
   *
   * @param json The message. It is kept as bytes until the event has its outcome.
   * @param elsewhere Events that count against the bound but are not here yet.
   * @param isUrgent A flush waits for it.
   * @returns Whether it was taken. With `drop-oldest`, older events make room.
   * @throws DeliveryError `too_large` when the service takes no message of that size.
   */
  enqueue(entry: Entry, json: string, elsewhere: number, isUrgent: boolean): boolean {
    this.#store.put(entry, json)
    if (!this.makeRoom(entry.bytes, elsewhere)) {
      this.#store.release(entry)
      return false
    }
    this.#queue.push(entry)
    if (isUrgent) this.#due = this.#queue.length
    if (!this.#isTurnScheduled) {
      this.#isTurnScheduled = true
      queueMicrotask(this.#onTurn)
    }
    return true
  }

  /** Sends all that waits as soon as the gate lets it. */
  flush(): void {
    this.#due = this.#queue.length
    this.#pump()
  }

  /** Ends every event that has no outcome yet, aborts what is under way, and leaves no timer behind. */
  abandon(error: DeliveryError): void {
    // All is taken out before the first outcome is told: a callback may flush, and must find nothing to send.
    const batches = [...this.#inFlight, ...this.#retrying.splice(0)]
    const waiting = this.#queue.take(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
    this.#clearTimers()
    this.#due = 0
    this.#isBlocked = false
    this.#options.sender.abort()
    for (const batch of batches) this.#settle(batch, error)
    for (const entry of waiting) this.#end(entry, error, 0)
  }

  /**
   * Whether one more event may wait, beside `elsewhere` events that will come to wait here. With
   * `drop-oldest`, older events make room for it.
   */
  makeRoom(bytes: number, elsewhere: number): boolean {
    if (this.#hasRoom(bytes, elsewhere)) return true
    const { overflow, maxQueueSize } = this.#options.settings
    // Events that are still inside plugins cannot be displaced.
    if (overflow === 'drop-newest' || elsewhere >= maxQueueSize) return false
    while (!this.#hasRoom(bytes, elsewhere)) {
      const oldest = this.#queue.shift()
      if (oldest === undefined) return false
      if (this.#due > 0) this.#due--
      this.#options.displace(
        oldest,
        new DeliveryError('queue_full', 'the queue is full, and this was the oldest'),
      )
      this.#store.release(oldest)
    }
    return true
  }

  #hasRoom(bytes: number, elsewhere: number): boolean {
    const { maxQueueSize, maxQueueBytes } = this.#options.settings
    return this.#queue.length + elsewhere < maxQueueSize && this.#queue.bytes + bytes <= maxQueueBytes
  }

  readonly #onTurn = (): void => {
    this.#isTurnScheduled = false
    const { flushAt, maxQueueSize, maxQueueBytes } = this.#options.settings
    const { length, bytes } = this.#queue
    // A full body or a full queue is reason enough as well: waiting longer gains nothing.
    const isFull = bytes >= this.#maxMessagesBytes || bytes + MAX_MESSAGE_BYTES > maxQueueBytes
    if (isFull || length >= Math.min(flushAt, maxQueueSize)) this.#due = length
    if (this.#due > 0 && !this.#isBlocked) this.#pump()
    this.#armInterval()
  }

  #armInterval(): void {
    if (this.#queue.length === 0) {
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
    while (this.#retrying.length > 0 || this.#due > 0) {
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
    const { maxConcurrentRequests, flushAt } = this.#options.settings
    const hasPlace = this.#inFlight.size + this.#retrying.length < maxConcurrentRequests
    const canCut = hasPlace && this.#due > 0
    if (canCut && (this.#gate.isProbing || this.#retrying.length === 0)) {
      // With `flushAt: 1` each event has a request of its own, for as long as requests keep up with events.
      const maxItems = flushAt === 1 && !wasBlocked ? 1 : Number.POSITIVE_INFINITY
      const entries = this.#queue.take(this.#maxMessagesBytes, maxItems)
      this.#due = Math.max(0, this.#due - entries.length)
      return new Batch(entries)
    }
    if (!this.#gate.isProbing) return this.#retrying.shift()
    const least = this.#retrying.reduce<Batch<Entry> | undefined>(
      (best, batch) => (best !== undefined && best.retries <= batch.retries ? best : batch),
      undefined,
    )
    if (least !== undefined) this.#retrying.splice(this.#retrying.indexOf(least), 1)
    return least
  }

  /** Wakes up when the gate opens or a batch's time is over, whichever comes first. */
  #wakeUpIn(waitMs: number): void {
    this.#cancelWakeUp?.()
    this.#cancelWakeUp = undefined
    const nowMs = this.#options.clock.monotonic()
    let delayMs = waitMs
    for (const { expiresAtMs } of this.#retrying) delayMs = Math.min(delayMs, expiresAtMs - nowMs)
    if (delayMs === Number.POSITIVE_INFINITY) return
    this.#cancelWakeUp = this.#options.clock.setTimer(
      () => {
        this.#cancelWakeUp = undefined
        this.#pump()
      },
      Math.max(0, Math.ceil(delayMs)),
    )
  }

  #expire(): void {
    const nowMs = this.#options.clock.monotonic()
    for (const batch of [...this.#retrying]) {
      // Settled meanwhile: the callback of an earlier one may have flushed.
      if (batch.isSettled || batch.expiresAtMs > nowMs) continue
      this.#retrying.splice(this.#retrying.indexOf(batch), 1)
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
      if (!batch.isSettled) this.#retrying.unshift(batch)
      this.#pump()
      return
    }
    const attempt = sender.send(batch, authorization)
    const answer = await attempt.answer
    this.#inFlight.delete(batch)
    // Abandoned meanwhile. Should this have been the probe, the next request is.
    if (batch.isSettled) this.#gate.probe(pass)
    else this.#conclude(batch, pass, attempt, answer)
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

  #conclude(batch: Batch<Entry>, pass: Pass, attempt: Attempt, answer: Answer): void {
    const { credentials, clock, url } = this.#options
    batch.failure = (code) => answerError(code, answer, url, attempt.redact)
    if (answer.status === undefined) return this.#retryUnanswered(batch, pass, answer.cause)

    const read: ReadHeader = (name) => headerValue(answer.headers, name)
    const action = classify(answer.status, credentials.isRenewable)
    switch (action) {
      case 'delivered':
        credentials.accepted(attempt.authorization)
        this.#succeed(pass, retryAfterMs(read, clock.now()))
        return this.#settle(batch, undefined)
      case 'retry':
        return this.#retry(batch, pass, retryAfterMs(read, clock.now()))
      case 'limited':
        return this.#wait(batch, pass, rateLimitMs(read, clock.now()))
      case 'split':
        return this.#split(batch, pass)
      case 'renew':
        this.#gate.succeed(pass)
        if (batch.isRenewed || !credentials.refused(attempt.authorization)) return this.#fail(batch, 'auth')
        batch.isRenewed = true
        this.#retrying.unshift(batch)
        return
      default:
        this.#gate.succeed(pass)
        return this.#fail(batch, action)
    }
  }

  #succeed(pass: Pass, restMs: number | undefined): void {
    this.#gate.succeed(pass)
    if (restMs !== undefined && restMs > 0) this.#gate.rest(pass, restMs)
  }

  #retryUnanswered(batch: Batch<Entry>, pass: Pass, cause: unknown): void {
    // A kept-alive connection that the server had just closed says nothing about the service: try again at
    // once, once, uncounted. After an outage has begun, it is one failure like any other.
    if (!batch.isFreeRetryUsed && this.#gate.isOpenFor(pass) && isConnectionLost(cause)) {
      batch.isFreeRetryUsed = true
      this.#retrying.unshift(batch)
    } else this.#retry(batch, pass, undefined)
  }

  #retry(batch: Batch<Entry>, pass: Pass, floorMs: number | undefined): void {
    const { settings, clock } = this.#options
    this.#gate.fail(pass, floorMs)
    if (batch.retries >= settings.maxRetries) return this.#fail(batch, 'retries_exhausted')
    batch.retries++
    batch.backoffUntilMs ??= clock.monotonic() + settings.maxTotalBackoffDuration * 1_000
    this.#retrying.push(batch)
  }

  #wait(batch: Batch<Entry>, pass: Pass, waitMs: number | undefined): void {
    if (waitMs === undefined) return this.#retry(batch, pass, undefined)
    const { settings, clock } = this.#options
    this.#gate.limit(pass, waitMs)
    batch.limitedUntilMs ??= clock.monotonic() + settings.maxRateLimitDuration * 1_000
    this.#retrying.push(batch)
  }

  /** Puts the events back and halves what a batch may hold, for this client's life. */
  #split(batch: Batch<Entry>, pass: Pass): void {
    const { entries } = batch
    if (entries.length === 1) {
      this.#gate.succeed(pass)
      return this.#fail(batch, 'too_large')
    }
    this.#maxMessagesBytes = Math.min(this.#maxMessagesBytes, Math.floor(batch.bytes / 2))
    this.#queue.unshift(entries)
    this.#due += entries.length
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
    this.#store.release(entry)
  }
}

function toAuthError(error: unknown): DeliveryError {
  return isInstance(error, DeliveryError) ? error : new DeliveryError('auth', 'there are no credentials')
}
