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
  /** Returns the last failure of the service; `undefined` while the service does not fail. */
  readonly trouble: () => DeliveryError | undefined
  readonly onDrained: () => void
}

/** When this many early outcomes wait for the end of the turn, the next call reports them, to save memory. */
const MAX_EARLY = 1_024

/** Gives every event its one outcome, and reports it to its callback, the listeners and the `after` plugins. */
export class Outcomes {
  readonly #options: OutcomesOptions
  /** Outcomes that wait, because no callback may run before its call has returned. */
  #early: { item: Item; error: DeliveryError | undefined }[] = []
  #isEarlyScheduled = false
  isCrowded = false
  #isSettlingEarly = false
  /**
   * One error for all events that found no room (`#full`) or were displaced (`#displaced`) in this turn, because stack traces
   * are costly.
   */
  #full: DeliveryError | undefined
  #displaced: DeliveryError | undefined

  constructor(options: OutcomesOptions) {
    this.#options = options
  }

  /** Whether a callback or listener will get the context of this event if the event fails. */
  isWanted({ callback }: Item): boolean {
    return callback !== undefined || this.#options.listeners.has('error')
  }

  /** Whether a callback, a listener, a plugin or a channel still needs the context of this event. */
  isFollowed({ callback, kind }: Item): boolean {
    const { listeners, pipeline } = this.#options
    if (callback !== undefined || channels.outcome.hasSubscribers || pipeline.isFollowed(kind)) return true
    return listeners.has(kind) || listeners.has('error')
  }

  /** Settles an event that was only in the spool: it is kept for the next start (`isKept`), or lost. */
  conclude(item: Item, isKept: boolean): void {
    const error = isKept
      ? this.#deferred
      : new DeliveryError('spool', 'it was in the spool alone, where it cannot be read any more')
    item.stored = undefined
    this.settle(item, error)
  }

  /** The only function that gives an event its outcome: delivered if `given` is `undefined`, otherwise failed. */
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
    // `after` plugins run after the outcome, and a flush must wait for these plugins too.
    ledger.beginWork(item)
    ledger.settle(item, error?.code)
    const isUntold = callback === undefined || this.#call(item, error, ctx)
    if (error === undefined) {
      if (ctx !== undefined && isHeard) emitter.emit(kind, ctx)
    } else if (isHeard) emitter.emit('error', errorEvent(error, ctx))
    else if (isUntold && !isDeferred) this.#options.warnings.reportLoss(error)
    if (isFollowed && ctx !== undefined) this.countWork(item, pipeline.conclude(kind, ctx))
    ledger.endWork(item)
    if (ledger.pending === 0) this.#options.onDrained()
  }

  /** Like {@link settle}, at the end of the current turn. */
  settleLater(item: Item, error: DeliveryError | undefined): void {
    this.#early.push({ item, error })
    this.isCrowded = this.#early.length >= MAX_EARLY
    if (this.#isEarlyScheduled) return
    // The outcomes of events that a running callback tracks wait for a later turn: otherwise, a callback that tracks on each
    // loss would block the event loop forever.
    if (this.#isSettlingEarly) this.#options.clock.setTimer(this.settleEarly, 0)
    else soon(this.settleEarly)
    this.#isEarlyScheduled = true
  }

  /**
   * Reports the early outcomes during a call, unless the stack is nearly used up: a stack overflow would skip a callback and
   * the remaining outcomes.
   */
  relieve(): void {
    if (hasStack()) this.settleEarly()
  }

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

  failFull(item: Item): void {
    this.#full ??= this.#queueFull('the queue is full')
    this.settleLater(item, this.#full)
  }

  displace(item: Item): void {
    // The message will be released before the outcome is reported, so the context is made now.
    item.ctx ??= this.#contextOf(item, this.#options.listeners.has('error'))
    this.#displaced ??= this.#queueFull('the queue is full, and this was the oldest')
    this.settleLater(item, this.#displaced)
  }

  /** Makes flushes also wait for plugin work that does not affect the outcome of the event. */
  countWork(item: Item, work: Promise<unknown> | undefined): void {
    if (work === undefined) return
    const { ledger } = this.#options
    ledger.beginWork(item)
    void work.then(() => ledger.endWork(item))
  }

  #queueFull(text: string): DeliveryError {
    return withTrouble('queue_full', `${text}; see maxQueueSize and maxQueueBytes`, this.#options.trouble())
  }

  /** Leaves the event in the spool for the next start. Returns whether the spool has the event. */
  #defers({ stored }: Item): boolean {
    return stored !== undefined && this.#options.spool?.defer(stored) === true
  }

  get #deferred(): DeliveryError {
    return new DeliveryError('deferred', 'the client was closed; the event is in the spool')
  }

  /** @returns Whether the callback has returned itself: in this way, `trackpost/compat` says that it has told nobody. */
  #call(
    { callback, asyncContext }: Item,
    error: DeliveryError | undefined,
    ctx: Context | undefined,
  ): boolean {
    let result: unknown
    const call = (): void => {
      guard(
        () => (result = callback?.(error, ctx)),
        'a callback',
        (reason) => this.#options.warnings.take('callback', reason, ctx),
      )
    }
    if (asyncContext === undefined) call()
    else asyncContext.runInAsyncScope(call)
    return result === callback
  }

  /** The item has the `messageId` only if the outcome channel had a subscriber when the event was tracked. */
  #idOf({ messageId, stored }: Item): string | undefined {
    if (messageId !== undefined || stored === undefined) return messageId
    return new Context(undefined, this.#options.store.read(stored), this.#options.clock).id
  }

  #contextOf({ callback, stored }: Item, isHeard: boolean): Context | undefined {
    const isWanted = callback !== undefined || isHeard
    return isWanted && stored !== undefined
      ? new Context(undefined, this.#options.store.read(stored), this.#options.clock)
      : undefined
  }
}

/** While the service fails, the message names that failure (`trouble`), and `cause` is that failure. */
export function withTrouble(
  code: FailureCode,
  text: string,
  trouble: DeliveryError | undefined,
): DeliveryError {
  if (trouble === undefined) return new DeliveryError(code, text)
  return new DeliveryError(code, `${text}; the service failed with: ${trouble.message}`, { cause: trouble })
}

/** Several times as many as the report of an outcome needs. If a callback needs more, `guard` catches the overflow. */
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

const BEFORE_DELIVERY = new Set<string>(['invalid', 'unserializable', 'queue_full', 'plugin', 'closed'])

function errorEvent(reason: DeliveryError, ctx: Context | undefined): ErrorEvent {
  const isLocal =
    BEFORE_DELIVERY.has(reason.code) || (reason.code === 'too_large' && reason.status === undefined)
  const code = isLocal ? reason.code : 'delivery_failure'
  return ctx === undefined ? { code, reason } : { code, reason, ctx }
}
