import type { Credentials } from '../auth/credentials.ts'
import { describeCause } from '../errors/cause.ts'
import { DeliveryError } from '../errors/errors.ts'
import { isInstance } from '../errors/guard.ts'
import { AsyncResource } from '../runtime/async-context.node.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Warn, warn } from '../runtime/warn.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import { type Attempt, type Ending, type Sender, UNSENT } from './attempt.ts'
import type { Backlog } from './backlog.ts'
import { type Batch, BodyLimit, createBatch } from './batch.ts'
import { Gate, type Pass } from './gate.ts'
import { ResultHandler, Retries } from './retries.ts'
import type { Holder } from './store.ts'

export interface DeliveryOptions<Entry extends Holder> {
  readonly settings: ResolvedSettings
  readonly backlog: Backlog<Entry>
  /** Bound on the messages of one request, with the commas between them. */
  readonly maxMessagesBytes: number
  readonly sender: Sender
  readonly credentials: Credentials
  readonly clock: Clock
  /** Default: a process warning. */
  readonly warn?: Warn
  /** No request is sent for this long. Must not throw. */
  readonly onPause?: (waitMs: number) => void
  /**
   * Takes the outcome of each event, exactly once and while its message is still stored: delivered without an error.
   * Never throws.
   */
  readonly outcomes: { settle(entry: Entry, error: DeliveryError | undefined, attempts: number): void }
}

/**
 * From the backlog to the outcome: cuts batches, sends them when the gate lets them, and has the result handled.
 *
 * At most `maxConcurrentRequests` batches are open at a time, in flight or waiting for a retry; all other events wait in
 * the backlog, which is bounded.
 */
export class Delivery<Entry extends Holder> {
  readonly #options: DeliveryOptions<Entry>
  readonly #gate: Gate
  readonly #inFlight = new Set<Batch<Entry>>()
  readonly #retries = new Retries<Entry>()
  readonly #limit: BodyLimit
  readonly #results: ResultHandler<Entry>
  /** Requests carry the events of many callers: the HTTP client runs in the context of none of them. */
  readonly #asyncContext = new AsyncResource('Trackpost')
  /** Batches cut so far. */
  #cut = 0
  /** Nothing can go before a response or a timer comes, so that new events need not ask. */
  #isBlocked = false
  #cancelInterval: (() => void) | undefined
  #wakeUp: { readonly atMs: number; readonly cancel: () => void } | undefined
  #hasWarnedOfFault = false

  constructor(options: DeliveryOptions<Entry>) {
    this.#options = options
    const { settings, clock, backlog } = options
    this.#gate = new Gate(settings.maxConcurrentRequests, clock, options.onPause)
    this.#limit = new BodyLimit(options.maxMessagesBytes)
    this.#results = new ResultHandler({
      settings,
      clock,
      gate: this.#gate,
      limit: this.#limit,
      retries: this.#retries,
      end: (entry, error, attempts) => this.#end(entry, error, attempts),
    })
    backlog.onTurn = () => this.#onTurn()
  }

  /** Requests under way, the wait for an access token included. */
  get inFlight(): number {
    return this.#inFlight.size
  }

  /** Milliseconds until the gate opens; 0 when it is open. */
  get pausedMs(): number {
    return this.#gate.pausedMs
  }

  /** Events that were cut into batches and are not in flight: those of retries, and of parts that wait for their turn. */
  get waiting(): { readonly count: number; readonly bytes: number } {
    const firsts = [...this.#retries.all, ...[...this.#inFlight].map(({ next }) => next)]
    let [count, bytes] = [0, 0]
    for (const first of firsts) {
      for (let part = first; part !== undefined; part = part.next) {
        count += part.length
        // Without the commas between them.
        bytes += part.bytes - part.length + 1
      }
    }
    return { count, bytes }
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
    this.#cancelInterval?.()
    this.#cancelInterval = undefined
    this.#wakeUp?.cancel()
    this.#wakeUp = undefined
    this.#isBlocked = false
    this.#options.sender.abort()
    for (const batch of batches) this.#results.abandon(batch, error)
    for (const entry of waiting) this.#end(entry, error, 0)
  }

  #onTurn(): void {
    const { backlog, settings } = this.#options
    // A full body or a full backlog is reason enough as well: waiting longer gains nothing.
    const isFull = backlog.isNearlyFull || backlog.bytes >= this.#limit.bytes
    if (isFull || backlog.length >= settings.flushAt) backlog.makeAllDue()
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

  /** Sends whatever may go now. Never throws. */
  #pump(): void {
    try {
      this.#expire()
      this.#sendDue()
    } catch (error) {
      // A clock that tests have mocked away, for instance. The next event, flush or response asks again.
      this.#isBlocked = false
      this.#warnOfFault(error)
    }
  }

  #sendDue(): void {
    this.#isBlocked = false
    while (this.#retries.size > 0 || this.#options.backlog.due > 0) {
      const waitMs = this.#gate.waitMs()
      const batch = waitMs > 0 ? undefined : this.#next()
      if (batch === undefined) {
        this.#isBlocked = true
        return this.#wakeUpAt(Number.isFinite(waitMs) ? this.#gate.opensAtMs : waitMs)
      }
      void this.#asyncContext.runInAsyncScope(() => this.#attempt(batch))
    }
    this.#wakeUpAt(Number.POSITIVE_INFINITY)
  }

  /**
   * Takes the batch that goes next. After an outage it is the one with the most retries left, and a new one has them
   * all: probing always with the same batch would use up its retries in seconds.
   */
  #next(): Batch<Entry> | undefined {
    const { backlog, settings } = this.#options
    const { maxConcurrentRequests, flushAt } = settings
    const { isProbing } = this.#gate
    const canCut = backlog.due > 0 && this.#inFlight.size + this.#retries.size < maxConcurrentRequests
    const waiting = isProbing ? this.#retries.freshest : this.#retries.oldest
    if (waiting !== undefined && !(canCut && isProbing && waiting.retries > 0)) {
      this.#retries.remove(waiting)
      return waiting
    }
    if (!canCut) return undefined
    const maxItems = flushAt === 1 ? 1 : Number.POSITIVE_INFINITY
    return createBatch(backlog.take(this.#limit.bytes, maxItems), this.#cut++)
  }

  /** Wakes up at this moment or when a batch's time is over, whichever comes first. */
  #wakeUpAt(gateOpensAtMs: number): void {
    const atMs = Math.min(gateOpensAtMs, this.#retries.nextExpiryMs)
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

  #expire(): void {
    if (this.#retries.size === 0) return
    const nowMs = this.#options.clock.monotonic()
    // One at a time: the callback of one may flush, and find the others gone.
    for (;;) {
      const batch = this.#retries.takeExpired(nowMs)
      if (batch === undefined) return
      this.#results.expire(batch)
    }
  }

  /** Takes a place for one batch, sends it, has the result handled and gives the place back. Never rejects. */
  async #attempt(batch: Batch<Entry>): Promise<void> {
    const pass = this.#gate.enter()
    this.#inFlight.add(batch)
    const mayGo = (): boolean => !batch.isSettled && this.#gate.isCurrent(pass)
    let attempt: Attempt | undefined
    try {
      let ending: Ending
      const given = this.#authorization()
      // No await where the value is at hand: the request goes out in this very turn.
      const authorization = given instanceof Promise ? await given : given
      if (typeof authorization !== 'string') ending = { status: 'unsent', error: authorization }
      // While the credentials were fetched, the batch was given up, or the gate shut.
      else if (!mayGo()) ending = UNSENT
      else {
        attempt = this.#options.sender.send(batch, authorization, mayGo)
        ending = await attempt.result
      }
      this.#inFlight.delete(batch)
      this.#conclude(batch, pass, ending)
    } catch (error) {
      this.#inFlight.delete(batch)
      this.#contain(batch, pass, error)
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

  #conclude(batch: Batch<Entry>, pass: Pass, ending: Ending): void {
    if (ending.status !== 'unsent') {
      if (!batch.isSettled) return this.#results.handle(batch, pass, ending)
      // Abandoned meanwhile. Should this have been the probe, the next request is.
      return this.#gate.probe(pass)
    }
    if (pass.isProbe) this.#gate.probe(pass)
    if (batch.isSettled) return
    const { error } = ending
    if (error === undefined) return this.#retries.add(batch)
    batch.failure = () => error
    this.#results.fail(batch, 'auth')
  }

  /** Whatever threw, the batch has its next attempt or its outcome. */
  #contain(batch: Batch<Entry>, pass: Pass, error: unknown): void {
    this.#warnOfFault(error)
    try {
      const message = `no attempt could be made: ${describeCause(error)}`
      this.#results.handleFault(batch, pass, (code) => new DeliveryError(code, message))
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

  #end(entry: Entry, error: DeliveryError | undefined, attempts: number): void {
    this.#options.outcomes.settle(entry, error, attempts)
    this.#options.backlog.release(entry)
  }
}

function toAuthError(error: unknown): DeliveryError {
  return isInstance(error, DeliveryError) ? error : new DeliveryError('auth', 'there are no credentials')
}
