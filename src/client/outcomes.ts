import type { MessageStore } from '../delivery/store.ts'
import { DeliveryError } from '../errors/errors.ts'
import { guard } from '../errors/guard.ts'
import type { AnalyticsEvents, ErrorEvent } from '../events.ts'
import { Context } from '../pipeline/context.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { type Clock, soon } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { SpoolConnection } from '../spool/spool.ts'
import { channels } from './diagnostics.ts'
import type { Emitter } from './emitter.ts'
import type { Entry } from './entry.ts'
import type { Epoch, Ledger } from './ledger.ts'
import type { Monitor } from './monitor.ts'
import type { Warnings } from './warnings.ts'

export interface OutcomesOptions {
  readonly ledger: Ledger
  readonly pipeline: Pipeline
  readonly store: MessageStore
  readonly spool: SpoolConnection | undefined
  readonly clock: Clock
  readonly emitter: Emitter<AnalyticsEvents>
  readonly warnings: Warnings
  readonly log: Log
  readonly monitor: Monitor
  /** Called each time the last pending event gets its outcome. */
  readonly onDrained: () => void
}

/** Outcomes known within their call pile up to here; then the next call gives them. */
const MAX_EARLY = 1_024

/** Gives every event its one outcome, and tells callback, listeners and `after` plugins of it. */
export class Outcomes {
  readonly #options: OutcomesOptions
  /** Outcomes that were known within the call itself: callbacks must not run before it has returned. */
  #early: { entry: Entry; error: DeliveryError | undefined }[] = []
  #isEarlyScheduled = false
  /** Too many of them wait: the next call gives them first, so that their memory stays bounded. */
  isCrowded = false
  #isSettlingEarly = false
  /** Shared by the events that the backlog refused or displaced in this turn: there may be many, and a stack is costly. */
  #refused: DeliveryError | undefined
  #displaced: DeliveryError | undefined
  readonly #warned = new Set<string>()

  constructor(options: OutcomesOptions) {
    this.#options = options
  }

  /** Whether anybody will look at the context of this event if it fails. */
  isWanted({ callback }: Entry): boolean {
    return callback !== undefined || this.#options.emitter.listenerCount('error') > 0
  }

  /** Whether anybody will be told of the outcome of this event, or is at work on its context. */
  isFollowed({ callback, kind }: Entry): boolean {
    const { emitter, pipeline } = this.#options
    if (callback !== undefined || channels.outcome.hasSubscribers || pipeline.isFollowed(kind)) return true
    return emitter.listenerCount(kind) > 0 || emitter.listenerCount('error') > 0
  }

  /** Gives an event that was in the spool alone its outcome. */
  conclude(entry: Entry, isKept: boolean): void {
    const error = isKept
      ? this.#deferred
      : new DeliveryError('spool', 'it was in the spool alone, where it cannot be read any more')
    // Events that nobody can tell apart share one: what is known of the first is not known of the others.
    const known = entry.callback === undefined ? { ctx: undefined, messageId: undefined } : {}
    this.settle({ ...entry, ...known, stored: undefined }, error, 0)
  }

  /** The one place where an event gets its outcome: failed with `given`, delivered without. */
  settle(entry: Entry, given: DeliveryError | undefined, attempts: number): void {
    if (entry.isSettled) return
    entry.isSettled = true
    const { ledger, emitter, pipeline, monitor } = this.#options
    const error = given?.code === 'shutdown_timeout' && this.#defers(entry) ? this.#deferred : given
    const { kind, epoch, callback } = entry
    const isDeferred = error?.code === 'deferred'
    const isHeard = !isDeferred && emitter.listenerCount(error === undefined ? kind : 'error') > 0
    const isFollowed = entry.passedPlugins && pipeline.isFollowed(kind)
    const ctx = entry.ctx ?? this.#contextOf(entry, isHeard || isFollowed)
    ctx?.conclude(error, attempts)

    const idOf = (): string | undefined => ctx?.id ?? this.#idOf(entry)
    monitor.onOutcome(kind, idOf, attempts, error)
    // After-plugins run after the outcome, and a flush waits for them: their epoch must not end before.
    ledger.beginWork(epoch)
    ledger.settle(epoch, error?.code)
    if (callback !== undefined) this.#call(entry, error, ctx)
    if (error === undefined) {
      if (ctx !== undefined && isHeard) emitter.emit(kind, ctx)
    } else if (isHeard) emitter.emit('error', errorEvent(error, ctx))
    else if (callback === undefined && !isDeferred) this.#warnOfLoss(error)
    if (isFollowed && ctx !== undefined) this.countWork(epoch, pipeline.conclude(kind, ctx))
    ledger.endWork(epoch)
    if (ledger.pending === 0) this.#options.onDrained()
  }

  /** Settles when the current turn is over. */
  settleLater(entry: Entry, error: DeliveryError | undefined): void {
    this.#early.push({ entry, error })
    this.isCrowded = this.#early.length >= MAX_EARLY
    if (this.#isEarlyScheduled) return
    // What callbacks of early outcomes lead to is left to a later turn: a callback that tracks again on each loss would
    // otherwise keep the event loop from ever running.
    if (this.#isSettlingEarly) this.#options.clock.setTimer(this.settleEarly, 0)
    else soon(this.settleEarly)
    this.#isEarlyScheduled = true
  }

  /**
   * Within a call: gives the outcomes that wait, when they are too many. Where the stack is nearly used up, the turn gives
   * them when it is over: an overflow in the middle would cost one event its callback, and the rest their outcome.
   */
  relieve(): void {
    if (hasStack()) this.settleEarly()
  }

  /** Gives the outcomes that wait for the end of a turn. */
  readonly settleEarly = (): void => {
    if (this.#isSettlingEarly) return
    const early = this.#early
    this.#early = []
    this.isCrowded = false
    this.#isEarlyScheduled = false
    this.#refused = undefined
    this.#displaced = undefined
    this.#isSettlingEarly = true
    try {
      for (const { entry, error } of early) this.settle(entry, error, 0)
    } finally {
      this.#isSettlingEarly = false
    }
  }

  /** The backlog had no room for this event. */
  refuse(entry: Entry): void {
    this.#refused ??= new DeliveryError('queue_full', 'the queue is full; see maxQueueSize and maxQueueBytes')
    this.settleLater(entry, this.#refused)
  }

  /** This event had to make room for a newer one. */
  displace(entry: Entry): void {
    // Its message is gone when the outcome is told.
    entry.ctx ??= this.#contextOf(entry, this.#options.emitter.listenerCount('error') > 0)
    this.#displaced ??= new DeliveryError(
      'queue_full',
      'the queue is full, and this was the oldest; see maxQueueSize and maxQueueBytes',
    )
    this.settleLater(entry, this.#displaced)
  }

  /** Keeps flushes waiting for plugin work that the event's outcome does not depend on. */
  countWork(epoch: Epoch, work: Promise<unknown> | undefined): void {
    if (work === undefined) return
    const { ledger } = this.#options
    ledger.beginWork(epoch)
    void work.then(() => ledger.endWork(epoch))
  }

  /** Given up, and yet not lost. */
  #defers({ stored }: Entry): boolean {
    return stored !== undefined && this.#options.spool?.defer(stored) === true
  }

  get #deferred(): DeliveryError {
    return new DeliveryError(
      'deferred',
      'the client was closed; the event is in the spool, for the next start',
    )
  }

  #call({ callback, asyncContext }: Entry, error: DeliveryError | undefined, ctx: Context | undefined): void {
    const call = (): void => {
      guard(
        () => callback?.(error, ctx),
        'a callback',
        (reason) => this.#options.warnings.take('callback', reason, ctx),
      )
    }
    if (asyncContext === undefined) call()
    else asyncContext.runInAsyncScope(call)
  }

  /** It was kept if anybody asked for it when the event came; else it is in the stored message. */
  #idOf({ messageId, stored }: Entry): string | undefined {
    if (messageId !== undefined || stored === undefined) return messageId
    return new Context(undefined, this.#options.store.read(stored), this.#options.clock).id
  }

  /** Made from the stored message, if anybody is there to look at it. */
  #contextOf({ callback, stored }: Entry, isHeard: boolean): Context | undefined {
    const isWanted = callback !== undefined || isHeard
    return isWanted && stored !== undefined
      ? new Context(undefined, this.#options.store.read(stored), this.#options.clock)
      : undefined
  }

  /** Tells of the first loss of each reason, when nobody else does. */
  #warnOfLoss({ code, message }: DeliveryError): void {
    if (this.#warned.has(code)) return
    this.#warned.add(code)
    this.#options.log.loss(
      code,
      `an event was not delivered: ${message} (${code}). Further ones are counted in ` +
        `analytics.stats.failures.${code}; analytics.on('error', ...) is told of each.`,
    )
  }
}

/** Small frames, several times as many as it takes to give an outcome; what callbacks need beyond that is guarded. */
const SPARE_FRAMES = 1_000

function hasStack(): boolean {
  try {
    return descend(SPARE_FRAMES) === SPARE_FRAMES
  } catch {
    return false
  }
}

function descend(frames: number): number {
  return frames === 0 ? 0 : 1 + descend(frames - 1)
}

/** Codes of events that never set out. */
const BEFORE_DELIVERY = new Set<string>(['invalid', 'unserializable', 'queue_full', 'plugin', 'closed'])

function errorEvent(reason: DeliveryError, ctx: Context | undefined): ErrorEvent {
  const isLocal =
    BEFORE_DELIVERY.has(reason.code) || (reason.code === 'too_large' && reason.status === undefined)
  const code = isLocal ? reason.code : 'delivery_failure'
  return ctx === undefined ? { code, reason } : { code, reason, ctx }
}
