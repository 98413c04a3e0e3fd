import { DeliveryError, type FailureCode } from '../errors/errors.ts'
import { guard } from '../errors/guard.ts'
import type { Item } from '../line/item.ts'
import type { SpoolConnection } from '../line/spool.ts'
import type { MessageStore } from '../line/store.ts'
import { Context } from '../pipeline/context.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { type Clock, soon } from '../runtime/clock.ts'
import type { Emitter, Listeners } from './emitter.ts'
import type { AnalyticsEvents, ErrorEvent } from './events.ts'
import type { Ledger } from './ledger.ts'
import { channels, type Monitor } from './monitor.ts'
import type { Warnings } from './warnings.ts'

export interface OutcomesOptions {
  readonly ledger: Ledger
  readonly pipeline: Pipeline
  readonly store: MessageStore
  readonly spool: SpoolConnection | undefined
  readonly clock: Clock
  readonly emitter: Emitter<AnalyticsEvents>
  readonly listeners: Listeners<AnalyticsEvents>
  readonly warnings: Warnings
  readonly monitor: Monitor
  /** The last failure of the service, while it fails. */
  readonly trouble: () => DeliveryError | undefined
  /** Called each time the last pending event gets its outcome. */
  readonly onDrained: () => void
}

/**
 * At most this many outcomes that were known within their call are kept for the end of the turn; beyond that, the next call
 * reports them.
 */
const MAX_EARLY = 1_024

/** Gives every event its one outcome, and reports it to its callback, the listeners and the `after` plugins. */
export class Outcomes {
  readonly #options: OutcomesOptions
  /** Outcomes that were known within the call itself: callbacks must not run before it has returned. */
  #early: { item: Item; error: DeliveryError | undefined }[] = []
  #isEarlyScheduled = false
  /** Too many early outcomes wait: the next call reports them first, which bounds their memory. */
  isCrowded = false
  #isSettlingEarly = false
  /** Shared by all events that found no room or were displaced in this turn: there may be many, and stack traces are costly. */
  #full: DeliveryError | undefined
  #displaced: DeliveryError | undefined

  constructor(options: OutcomesOptions) {
    this.#options = options
  }

  /** Whether a callback or listener will get the context of this event if it fails. */
  isWanted({ callback }: Item): boolean {
    return callback !== undefined || this.#options.listeners.has('error')
  }

  /** Whether a callback, a listener, a plugin or a channel still needs the context of this event. */
  isFollowed({ callback, kind }: Item): boolean {
    const { listeners, pipeline } = this.#options
    if (callback !== undefined || channels.outcome.hasSubscribers || pipeline.isFollowed(kind)) return true
    return listeners.has(kind) || listeners.has('error')
  }

  /** Gives an event that was only in the spool its outcome. */
  conclude(item: Item, isKept: boolean): void {
    const error = isKept
      ? this.#deferred
      : new DeliveryError('spool', 'it was in the spool alone, where it cannot be read any more')
    item.stored = undefined
    this.settle(item, error)
  }

  /** The one place where an event gets its outcome: failed with `given`, delivered without. */
  settle(item: Item, given: DeliveryError | undefined): void {
    if (item.state === 'done') return
    item.state = 'done'
    const { ledger, emitter, listeners, pipeline, monitor } = this.#options
    const error = given?.code === 'shutdown_timeout' && this.#defers(item) ? this.#deferred : given
    const { kind, attempts, callback } = item
    const isDeferred = error?.code === 'deferred'
    const isHeard = !isDeferred && listeners.has(error === undefined ? kind : 'error')
    const isFollowed = item.passedPlugins && pipeline.isFollowed(kind)
    const ctx = item.ctx ?? this.#contextOf(item, isHeard || isFollowed)
    ctx?.conclude(error, attempts)

    if (error !== undefined || channels.outcome.hasSubscribers) {
      monitor.onOutcome(kind, () => ctx?.id ?? this.#idOf(item), attempts, error)
    }
    // `after` plugins run after the outcome, and a flush must wait for them too.
    ledger.beginWork(item)
    ledger.settle(item, error?.code)
    if (callback !== undefined) this.#call(item, error, ctx)
    if (error === undefined) {
      if (ctx !== undefined && isHeard) emitter.emit(kind, ctx)
    } else if (isHeard) emitter.emit('error', errorEvent(error, ctx))
    else if (callback === undefined && !isDeferred) this.#options.warnings.reportLoss(error)
    if (isFollowed && ctx !== undefined) this.countWork(item, pipeline.conclude(kind, ctx))
    ledger.endWork(item)
    if (ledger.pending === 0) this.#options.onDrained()
  }

  /** Settles when the current turn is over. */
  settleLater(item: Item, error: DeliveryError | undefined): void {
    this.#early.push({ item, error })
    this.isCrowded = this.#early.length >= MAX_EARLY
    if (this.#isEarlyScheduled) return
    // Events that these callbacks track get their outcome in a later turn: a callback that tracks again on each loss would
    // otherwise block the event loop forever.
    if (this.#isSettlingEarly) this.#options.clock.setTimer(this.settleEarly, 0)
    else soon(this.settleEarly)
    this.#isEarlyScheduled = true
  }

  /**
   * Reports the early outcomes within a call, when there are too many. Not while the stack is nearly used up: an overflow in
   * the middle would cost one event its callback and the rest their outcome. They are then reported at the end of the turn.
   */
  relieve(): void {
    if (hasStack()) this.settleEarly()
  }

  /** Reports the early outcomes. */
  readonly settleEarly = (): void => {
    if (this.#isSettlingEarly) return
    const early = this.#early
    this.#early = []
    this.isCrowded = false
    this.#isEarlyScheduled = false
    this.#full = undefined
    this.#displaced = undefined
    this.#isSettlingEarly = true
    try {
      for (const { item, error } of early) this.settle(item, error)
    } finally {
      this.#isSettlingEarly = false
    }
  }

  /** The line had no room for this event. */
  failFull(item: Item): void {
    this.#full ??= this.#queueFull('the queue is full')
    this.settleLater(item, this.#full)
  }

  /** This event had to make room for a newer one. */
  displace(item: Item): void {
    // Its message will be released before the outcome is reported.
    item.ctx ??= this.#contextOf(item, this.#options.listeners.has('error'))
    this.#displaced ??= this.#queueFull('the queue is full, and this was the oldest')
    this.settleLater(item, this.#displaced)
  }

  /** Makes flushes wait for plugin work on which the event's outcome does not depend. */
  countWork(item: Item, work: Promise<unknown> | undefined): void {
    if (work === undefined) return
    const { ledger } = this.#options
    ledger.beginWork(item)
    void work.then(() => ledger.endWork(item))
  }

  #queueFull(text: string): DeliveryError {
    return withTrouble('queue_full', `${text}; see maxQueueSize and maxQueueBytes`, this.#options.trouble())
  }

  /** Whether the spool keeps an event that is given up. */
  #defers({ stored }: Item): boolean {
    return stored !== undefined && this.#options.spool?.defer(stored) === true
  }

  get #deferred(): DeliveryError {
    return new DeliveryError(
      'deferred',
      'the client was closed; the event is in the spool, for the next start',
    )
  }

  #call({ callback, asyncContext }: Item, error: DeliveryError | undefined, ctx: Context | undefined): void {
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

  /** Kept on the item only if the channel had a subscriber at the call; otherwise read from the stored message. */
  #idOf({ messageId, stored }: Item): string | undefined {
    if (messageId !== undefined || stored === undefined) return messageId
    return new Context(undefined, this.#options.store.read(stored), this.#options.clock).id
  }

  /** Made from the stored message, but only if a callback or listener needs it. */
  #contextOf({ callback, stored }: Item, isHeard: boolean): Context | undefined {
    const isWanted = callback !== undefined || isHeard
    return isWanted && stored !== undefined
      ? new Context(undefined, this.#options.store.read(stored), this.#options.clock)
      : undefined
  }
}

/** The error that ends an event. While the service fails, it names that failure, and has it as its cause. */
export function withTrouble(
  code: FailureCode,
  text: string,
  trouble: DeliveryError | undefined,
): DeliveryError {
  if (trouble === undefined) return new DeliveryError(code, text)
  return new DeliveryError(code, `${text}; the service failed with: ${trouble.message}`, { cause: trouble })
}

/** Several times as many small frames as an outcome needs; callbacks that need more are guarded. */
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

/** Codes of events that fail before their delivery begins. */
const BEFORE_DELIVERY = new Set<string>(['invalid', 'unserializable', 'queue_full', 'plugin', 'closed'])

function errorEvent(reason: DeliveryError, ctx: Context | undefined): ErrorEvent {
  const isLocal =
    BEFORE_DELIVERY.has(reason.code) || (reason.code === 'too_large' && reason.status === undefined)
  const code = isLocal ? reason.code : 'delivery_failure'
  return ctx === undefined ? { code, reason } : { code, reason, ctx }
}
