import { DeliveryError } from '../errors/errors.ts'
import { createItem, type Item } from '../line/item.ts'
import type { Line } from '../line/line.ts'
import type { MessageStore, StoredMessage } from '../line/store.ts'
import { buildMessage, type MessageDefaults, type MessageStamp } from '../message/build.ts'
import { isMessageId } from '../message/message-id.ts'
import type { Scope } from '../message/scope.ts'
import { estimateBytes, serialize, toMessageError, withFormerSize } from '../message/serialize.ts'
import type { ContextEvent, Kind, Message } from '../message/types.ts'
import { copyToContextEvent, kindOf, toContextEvent, toWire } from '../message/wire.ts'
import { type Callback, Context } from '../pipeline/context.ts'
import { toPluginError } from '../pipeline/handler-result.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { handles, type Registration } from '../pipeline/registration.ts'
import { type Clock, soon } from '../runtime/clock.ts'
import { AsyncResource } from '../runtime/platform.node.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { Emitter } from './emitter.ts'
import type { AnalyticsEvents } from './events.ts'
import type { Ledger } from './ledger.ts'
import { channels, type Monitor } from './monitor.ts'
import type { Outcomes } from './outcomes.ts'
import { mergeScopes } from './scopes.ts'

export interface IntakeOptions {
  readonly settings: Pick<ResolvedSettings, 'maxMessageBytes' | 'scope' | 'strict'>
  readonly stamp: MessageStamp
  readonly clock: Clock
  readonly ledger: Ledger
  readonly pipeline: Pipeline
  readonly line: Line
  readonly outcomes: Outcomes
  readonly store: MessageStore
  readonly monitor: Monitor
  readonly emitter: Emitter<AnalyticsEvents>
  /** Reads the `scope` setting. Never throws. */
  readonly askScope: () => Scope | undefined
  /** Reads the `disable` setting; `undefined` when the setting is `false`. Never throws. */
  readonly askDisabled: (() => boolean) | undefined
  /** Called for each call that does not throw, even with bad arguments. */
  readonly onAccepted: (() => void) | undefined
  /** Whether events with a callback are sent at the end of their turn: on edge runtimes, no later request may send them. */
  readonly isCallbackUrgent: boolean
}

/** Builds the message of a call, runs the `before` and `enrichment` plugins, and adds the JSON to the queue (`Line`). */
export class Intake {
  readonly #options: IntakeOptions
  /** The events of calls in progress, and of calls that a stack overflow has cut short. */
  #open: Item[] = []
  #isCheckScheduled = false
  /** If set, every further call fails with `closed`. */
  isClosed = false

  constructor(options: IntakeOptions) {
    this.#options = options
  }

  /**
   * When `submit` returns, the event is queued, waits for a plugin, or is about to get its outcome.
   *
   * @param defaults Values for fields that the call leaves out.
   * @throws DeliveryError for a bad call, when `strict` is set.
   */
  submit(kind: Kind, params: unknown, callback: Callback | undefined, defaults?: MessageDefaults): void {
    const message = this.#build(kind, params, defaults)
    const { settings } = this.#options
    if (settings.strict && message instanceof DeliveryError && !this.isClosed) throw message
    const hasCallback = typeof callback === 'function'
    const captured = hasCallback ? new AsyncResource('Trackpost') : undefined
    const isUrgent = hasCallback && this.#options.isCallbackUrgent
    this.#take(kind, params, message, hasCallback ? callback : undefined, captured, isUrgent)
  }

  /** For `promises`: the event is sent without waiting for more events. Bad arguments reject, even without `strict`. */
  submitAwaited(kind: Kind, params: unknown, callback: Callback, defaults?: MessageDefaults): void {
    // No asynchronous context is captured: code after an `await` already runs in the right context.
    this.#take(kind, params, this.#build(kind, params, defaults), callback, undefined, true)
  }

  #build(kind: Kind, params: unknown, defaults: MessageDefaults | undefined): Message | DeliveryError {
    const { settings, stamp, clock, outcomes, askScope } = this.#options
    try {
      if (outcomes.isCrowded) outcomes.relieve()
      const scope = settings.scope === undefined ? undefined : askScope()
      const scoped =
        scope === undefined || defaults === undefined
          ? (scope ?? defaults)
          : mergeScopes(scope, defaults as Scope)
      return buildMessage(kind, params, stamp, clock.now(), scoped)
    } catch (error) {
      return toMessageError(error)
    }
  }

  #take(
    kind: Kind,
    params: unknown,
    message: Message | DeliveryError,
    callback: Callback | undefined,
    captured: Item['asyncContext'],
    isUrgent: boolean,
  ): void {
    const { ledger, outcomes, monitor, onAccepted } = this.#options
    try {
      // Calls that are still open at the end of the turn were cut short by a stack overflow.
      this.settleCutShortLater()
      const item = createItem(kind, ledger.accept(), callback, captured, isUrgent)
      this.#open.push(item)
      if (channels.outcome.hasSubscribers) item.messageId = idOf(message)
      onAccepted?.()
      if (this.isClosed) this.#failClosed(item, params, message)
      else if (message instanceof DeliveryError) outcomes.settleLater(item, message)
      else this.#place(item, message)
      if (channels.accepted.hasSubscribers) monitor.onAccepted(kind, idOf(message))
      if (this.#open[this.#open.length - 1] === item) this.#open.pop()
    } catch {
      // A stack overflow. The stack may be too full for any other call, so the item stays in `#open` until the end of the turn.
    }
  }

  /**
   * Takes a message from the spool.
   *
   * @param waiting The item of the message; `undefined` for a message of an earlier process.
   * @returns Whether `json` is a message.
   */
  admit(json: string, stored: StoredMessage, waiting: Item | undefined): boolean {
    const kind = kindOf(json)
    if (kind === undefined) return false
    const { ledger, line, clock } = this.#options
    const item = waiting ?? createItem(kind, ledger.recover(), undefined, undefined, true)
    item.stored = stored
    if (item.passedPlugins) item.ctx ??= new Context(undefined, json, clock)
    line.admit(item)
    return true
  }

  /** Ends the events of calls that a stack overflow has cut short. Must not run while a call is in progress. */
  settleCutShort(): void {
    this.#isCheckScheduled = false
    const open = this.#open
    this.#open = []
    for (const item of open) {
      if (item.state !== 'new' || item.stored !== undefined) continue
      const error = new DeliveryError('unserializable', 'the stack overflowed while the event was written')
      this.#options.outcomes.settleLater(item, error)
    }
  }

  /** Runs {@link settleCutShort} at the end of the turn, when no call is in progress. */
  settleCutShortLater(): void {
    if (this.#open.length === 0 || this.#isCheckScheduled) return
    soon(() => this.settleCutShort())
    this.#isCheckScheduled = true
  }

  /** Ends the events inside plugins with `error`. */
  abandon(error: DeliveryError): void {
    // All items are taken out before the first outcome is reported, because a callback may track again.
    const items = this.#options.line.takeFromPlugins()
    for (const item of items) this.#options.outcomes.settle(item, error)
  }

  /** Runs a newly registered plugin on the events that were tracked earlier in the same turn. */
  passThrough(plugin: Registration): void {
    const { line, pipeline, outcomes, store, clock } = this.#options
    for (const item of line.ofThisTurn) {
      const { kind, stored } = item
      // An event is urgent without a callback only if it comes from an earlier process, where it has passed the plugins.
      const isRecovered = item.isUrgent && item.callback === undefined
      if (stored === undefined || isRecovered || !handles(plugin, kind)) continue
      const json = store.read(stored)
      const ctx = item.ctx ?? new Context(undefined, json, clock)
      ctx.subject = item
      item.ctx = ctx
      item.passedPlugins = true
      if (plugin.type === 'destination') outcomes.countWork(item, pipeline.distribute(kind, ctx, [plugin]))
      if (plugin.type !== 'before' && plugin.type !== 'enrichment') continue
      line.leave(item)
      line.release(item)
      this.#sendThroughPlugins(item, ctx, JSON.parse(json) as Message, [plugin])
    }
  }

  #failClosed(item: Item, params: unknown, message: Message | DeliveryError): void {
    const { clock, emitter, outcomes } = this.#options
    const isBad = message instanceof DeliveryError
    emitter.emit('call_after_close', isBad ? (params as Message) : message)
    if (!isBad) item.ctx = new Context(toContextEvent(message), '', clock)
    outcomes.settleLater(item, new DeliveryError('closed', 'the client was closed'))
  }

  #place(item: Item, message: Message): void {
    const { pipeline, askDisabled, clock, outcomes } = this.#options
    if (askDisabled !== undefined) item.isDisabled = askDisabled()
    if (pipeline.isEmpty || !pipeline.concerns(item.kind)) {
      this.#hand(item, message)
      return
    }
    let ctx: Context
    try {
      // A copy, because plugins may change it but must not change the caller's objects.
      ctx = new Context(copyToContextEvent(message, this.#options.settings.maxMessageBytes), '', clock)
    } catch (error) {
      return outcomes.settleLater(item, toMessageError(error))
    }
    ctx.subject = item
    item.ctx = ctx
    this.#sendThroughPlugins(item, ctx, message)
  }

  #sendThroughPlugins(item: Item, ctx: Context, message: Message, plugins?: readonly Registration[]): void {
    const { settings, line, outcomes, pipeline } = this.#options
    let bytes = 0
    let isRefused = false
    // An event that does not wait for a plugin needs no estimate: the line itself checks whether there is room.
    if (pipeline.mayWait(item.kind, plugins)) {
      bytes = estimateBytes(ctx.event, settings.maxMessageBytes)
      if (!line.hasRoom(bytes)) return outcomes.failFull(item)
    }
    const onDone = (error: DeliveryError | undefined, ctx: Context): void => {
      item.ctx = ctx
      line.leave(item)
      // The event found no room, or was abandoned while it was inside a plugin.
      if (isRefused || item.state === 'done') return
      if (error === undefined) this.#leavePlugins(item, ctx, message, plugins !== undefined)
      else outcomes.settleLater(item, error)
    }
    if (pipeline.run(item.kind, ctx, onDone, plugins)) return
    bytes ||= estimateBytes(ctx.event, settings.maxMessageBytes)
    if (line.hasRoom(bytes)) return line.enterPlugins(item, bytes)
    // Room was not checked above, because the plugin has never returned a promise before; or the plugin tracked an event that
    // took the room.
    isRefused = true
    outcomes.failFull(item)
  }

  #leavePlugins(item: Item, ctx: Context, original: Message, wasDistributed: boolean): void {
    const { outcomes, pipeline } = this.#options
    const { kind } = item
    try {
      if (ctx.event.type !== kind) ctx.event = { ...ctx.event, type: kind }
      const { messageId } = ctx.event
      if (messageId !== original.messageId && !isMessageId(messageId)) {
        throw new DeliveryError('invalid', 'messageId: a plugin replaced it by one that the service refuses')
      }
    } catch (error) {
      return outcomes.settleLater(item, toPluginError(error))
    }
    if (!this.#hand(item, ctx.event, original)) return
    if (!wasDistributed) outcomes.countWork(item, pipeline.distribute(kind, ctx))
    // Saves memory: if needed, the context is made again from the stored message.
    if (item.stored !== undefined && !ctx.hasNotes && !outcomes.isFollowed(item)) item.ctx = undefined
  }

  /** Serialises the event and adds the JSON to the line. Returns `false` if the event has failed. */
  #hand(item: Item, message: Message | ContextEvent, original?: Message): boolean {
    const { settings, clock, line, outcomes, ledger } = this.#options
    const { isDisabled } = item
    // No room, and no callback or listener will see the event: it need not be serialised.
    if (!isDisabled && line.isFull && !outcomes.isWanted(item)) {
      outcomes.failFull(item)
      return false
    }
    try {
      const json = serialize(original === undefined ? message : toWire(message), settings.maxMessageBytes)
      item.passedPlugins = original !== undefined
      const isTaken = !isDisabled && line.add(item, json, item.isUrgent || item.seq <= ledger.lastCovered)
      if (isTaken) return true
      if (isDisabled || outcomes.isWanted(item)) item.ctx ??= new Context(undefined, json, clock)
    } catch (error) {
      item.passedPlugins = false
      item.ctx ??= new Context(toContextEvent(message), '', clock)
      outcomes.settleLater(item, withFormerSize(toMessageError(error), original))
      return false
    }
    if (isDisabled) outcomes.settleLater(item, undefined)
    else outcomes.failFull(item)
    return isDisabled
  }
}

function idOf(message: Message | DeliveryError): string | undefined {
  return message instanceof DeliveryError ? undefined : message.messageId
}
