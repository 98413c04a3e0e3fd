import type { Backlog } from '../delivery/backlog.ts'
import type { StoredMessage } from '../delivery/store.ts'
import { DeliveryError } from '../errors/errors.ts'
import type { AnalyticsEvents } from '../events.ts'
import { buildMessage, type MessageDefaults, type MessageStamp } from '../message/build.ts'
import { estimateBytes } from '../message/estimate.ts'
import { isMessageId } from '../message/message-id.ts'
import { requireSize, serialize } from '../message/serialize.ts'
import type { ContextEvent, Kind, Message } from '../message/types.ts'
import { copyToContextEvent, kindOf, toContextEvent, toWire } from '../message/wire.ts'
import { Context } from '../pipeline/context.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { AsyncResource } from '../runtime/async-context.node.ts'
import { type Clock, soon } from '../runtime/clock.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { Callback, Scope } from '../tracker.ts'
import { channels } from './diagnostics.ts'
import type { Emitter } from './emitter.ts'
import { createEntry, type Entry } from './entry.ts'
import { toDeliveryError, toPluginError, withFormerSize } from './failures.ts'
import type { Ledger } from './ledger.ts'
import type { Monitor } from './monitor.ts'
import type { Outcomes } from './outcomes.ts'
import { Reservations } from './reservations.ts'
import { mergeScopes } from './scopes.ts'

export interface IntakeOptions {
  readonly settings: Pick<ResolvedSettings, 'maxMessageBytes' | 'scope' | 'strict'>
  readonly stamp: MessageStamp
  readonly clock: Clock
  readonly ledger: Ledger
  readonly pipeline: Pipeline
  readonly backlog: Backlog<Entry>
  readonly outcomes: Outcomes
  readonly monitor: Monitor
  readonly emitter: Emitter<AnalyticsEvents>
  /** Asks the `scope` setting; called only when there is one. Never throws. */
  readonly askScope: () => Scope | undefined
  /** Asks the `disable` setting, unless it is a plain no. Never throws. */
  readonly askDisabled: (() => boolean) | undefined
  /** Called for each accepted call, bad ones included. */
  readonly onAccepted: (() => void) | undefined
}

/** From a call to the backlog: builds the message, takes it through the plugins and hands its JSON on. */
export class Intake {
  readonly #options: IntakeOptions
  /** Events inside asynchronous plugins. */
  readonly #inPlugins: Reservations
  /** A chain of calls: the one in progress, the calls it is nested in, and calls that a stack overflow cut short. */
  #open: Entry | undefined
  #isCheckScheduled = false
  #isClosed = false

  constructor(options: IntakeOptions) {
    this.#options = options
    this.#inPlugins = new Reservations(options.backlog)
  }

  /** Nothing more is taken. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** From now on every call fails with `closed`. */
  close(): void {
    this.#isClosed = true
  }

  /**
   * Takes one call. The event is in the backlog when this returns, unless it waits for a plugin.
   *
   * @param defaults What the call leaves out.
   * @throws DeliveryError for a bad call, when `strict` is set.
   */
  submit(kind: Kind, params: unknown, callback: Callback | undefined, defaults?: MessageDefaults): void {
    const message = this.#build(kind, params, defaults)
    const { settings } = this.#options
    if (settings.strict && message instanceof DeliveryError && !this.#isClosed) throw message
    const hasCallback = typeof callback === 'function'
    const captured = hasCallback ? new AsyncResource('Trackpost') : undefined
    this.#take(kind, params, message, hasCallback ? callback : undefined, captured, false)
  }

  /** Takes one call whose outcome somebody awaits: it does not wait for more events. A bad call fails, `strict` or not. */
  submitAwaited(kind: Kind, params: unknown, callback: Callback, defaults?: MessageDefaults): void {
    // No asynchronous context: code after an `await` runs in its own.
    this.#take(kind, params, this.#build(kind, params, defaults), callback, undefined, true)
  }

  #build(kind: Kind, params: unknown, defaults: MessageDefaults | undefined): Message | DeliveryError {
    const { settings, stamp, clock, outcomes, askScope } = this.#options
    try {
      if (outcomes.isCrowded) outcomes.relieve()
      const scope = settings.scope === undefined ? undefined : askScope()
      // One of them is enough in most programs, and merging is work.
      const scoped =
        scope === undefined || defaults === undefined
          ? (scope ?? defaults)
          : mergeScopes(scope, defaults as Scope)
      return buildMessage(kind, params, stamp, clock.now(), scoped)
    } catch (error) {
      return toDeliveryError(error)
    }
  }

  #take(
    kind: Kind,
    params: unknown,
    message: Message | DeliveryError,
    callback: Callback | undefined,
    captured: Entry['asyncContext'],
    isAwaited: boolean,
  ): void {
    const { ledger, outcomes, monitor, onAccepted } = this.#options
    try {
      if (this.#open !== undefined) this.settleCutShortLater()
      const { epoch } = ledger
      const entry: Entry = {
        kind,
        epoch,
        callback,
        asyncContext: captured,
        isAwaited,
        messageId: channels.outcome.hasSubscribers ? idOf(message) : undefined,
        ctx: undefined,
        passedPlugins: false,
        isDisabled: false,
        isSettled: false,
        outer: this.#open,
        stored: undefined,
      }
      this.#open = entry
      ledger.accept()
      onAccepted?.()
      if (this.#isClosed) this.#refuseClosed(entry, params, message)
      else if (message instanceof DeliveryError) outcomes.settleLater(entry, message)
      else this.#place(entry, message)
      if (channels.accepted.hasSubscribers) monitor.onAccepted(kind, idOf(message))
      // Otherwise a call within this one was cut short, and the chain is looked through later.
      if (this.#open !== entry) return
      this.#open = entry.outer
      entry.outer = undefined
    } catch {
      // A stack overflow. There may be no stack left for a call: the entry stays in the chain until there is.
    }
  }

  /**
   * Takes a message from the spool.
   *
   * @param waiting Its event; left out for a message that an earlier process has left.
   * @returns Whether it is a message.
   */
  admit(json: string, stored: StoredMessage, waiting: Entry | undefined): boolean {
    const kind = kindOf(json)
    if (kind === undefined) return false
    const { ledger, backlog, clock } = this.#options
    const entry = { ...(waiting ?? createEntry(kind, ledger.recover())), kind, stored, isSettled: false }
    // Events that nobody can tell apart share one: what is known of the first is not known of the others.
    if (entry.callback === undefined) {
      entry.ctx = undefined
      entry.messageId = undefined
    }
    if (entry.passedPlugins) entry.ctx ??= new Context(undefined, json, clock)
    backlog.admit(entry)
    return true
  }

  /** Resolves when the events that are inside plugins now have left them. */
  leftPlugins(): Promise<void> {
    return this.#inPlugins.ended()
  }

  /** Gives calls that were cut short by a stack overflow their outcome. Call only when no call is in progress. */
  settleCutShort(): void {
    this.#isCheckScheduled = false
    let entry = this.#open
    this.#open = undefined
    while (entry !== undefined) {
      const { isSettled, stored, outer } = entry
      if (!isSettled && stored === undefined && !this.#inPlugins.has(entry)) {
        const error = new DeliveryError('unserializable', 'the stack overflowed while the event was written')
        this.#options.outcomes.settleLater(entry, error)
      }
      entry.outer = undefined
      entry = outer
    }
  }

  /** When this turn is over no call is in progress, and what is in the chain then was cut short. */
  settleCutShortLater(): void {
    if (this.#open === undefined || this.#isCheckScheduled) return
    soon(() => this.settleCutShort())
    this.#isCheckScheduled = true
  }

  /** Ends the events inside plugins with `error`. */
  abandon(error: DeliveryError): void {
    // All are taken out before the first outcome is told: a callback may track again.
    for (const entry of this.#inPlugins.endAll()) this.#options.outcomes.settle(entry, error, 0)
  }

  #refuseClosed(entry: Entry, params: unknown, message: Message | DeliveryError): void {
    const { clock, emitter, outcomes } = this.#options
    const isBad = message instanceof DeliveryError
    // A call with bad arguments has no message.
    emitter.emit('call_after_close', isBad ? (params as Message) : message)
    if (!isBad) entry.ctx = new Context(toContextEvent(message), '', clock)
    outcomes.settleLater(entry, new DeliveryError('closed', 'the client was closed'))
  }

  #place(entry: Entry, message: Message): void {
    const { pipeline, askDisabled } = this.#options
    if (askDisabled !== undefined) entry.isDisabled = askDisabled()
    if (!pipeline.isEmpty && pipeline.concerns(entry.kind)) this.#sendThroughPlugins(entry, message)
    else this.#hand(entry, message)
  }

  #sendThroughPlugins(entry: Entry, message: Message): void {
    const { settings, clock, backlog, outcomes, pipeline } = this.#options
    const { maxMessageBytes } = settings
    const { kind } = entry
    let ctx: Context
    try {
      // A copy: plugins may write to it, and never to what is the caller's.
      ctx = new Context(copyToContextEvent(message, maxMessageBytes), '', clock)
    } catch (error) {
      return outcomes.settleLater(entry, toDeliveryError(error))
    }
    entry.ctx = ctx
    let bytes = 0
    if (this.#inPlugins.size > 0) {
      bytes = estimateBytes(ctx.event, maxMessageBytes)
      if (!backlog.hasRoom(bytes)) return outcomes.refuse(entry)
    }
    const isDone = pipeline.run(kind, ctx, (error, ctx) => {
      entry.ctx = ctx
      this.#inPlugins.end(entry)
      // It was abandoned while it was inside a plugin.
      if (entry.isSettled) return
      if (error === undefined) this.#leavePlugins(entry, ctx, message)
      else outcomes.settleLater(entry, error)
    })
    if (isDone) return
    bytes ||= estimateBytes(ctx.event, maxMessageBytes)
    this.#inPlugins.add(entry, bytes)
  }

  #leavePlugins(entry: Entry, ctx: Context, original: Message): void {
    const { outcomes, pipeline } = this.#options
    const { kind } = entry
    try {
      if (ctx.event.type !== kind) ctx.event = { ...ctx.event, type: kind }
      const { messageId } = ctx.event
      if (messageId !== original.messageId && !isMessageId(messageId)) {
        throw new DeliveryError('invalid', 'messageId: a plugin replaced it by one that the service refuses')
      }
    } catch (error) {
      return outcomes.settleLater(entry, toPluginError(error))
    }
    if (!this.#hand(entry, ctx.event, original)) return
    outcomes.countWork(entry.epoch, pipeline.distribute(kind, ctx))
    // From here to the outcome the stored message will do, where nobody waits for this very context.
    if (entry.stored !== undefined && !ctx.hasNotes && !outcomes.isFollowed(entry)) entry.ctx = undefined
  }

  /** From here on the event is its JSON. Returns whether it is on its way. */
  #hand(entry: Entry, message: Message | ContextEvent, original?: Message): boolean {
    const { settings, clock, backlog, outcomes } = this.#options
    const { isDisabled } = entry
    // Writing an event that will be refused, and that nobody will look at, would be work for nothing.
    if (!isDisabled && backlog.isFull && !outcomes.isWanted(entry)) {
      outcomes.refuse(entry)
      return false
    }
    try {
      const json = serialize(original === undefined ? message : toWire(message), settings.maxMessageBytes)
      if (isDisabled) requireSize(json, settings.maxMessageBytes)
      entry.passedPlugins = original !== undefined
      const isTaken = !isDisabled && backlog.add(entry, json, entry.isAwaited || entry.epoch.isSealed)
      if (isTaken) return true
      if (isDisabled || outcomes.isWanted(entry)) entry.ctx ??= new Context(undefined, json, clock)
    } catch (error) {
      entry.passedPlugins = false
      entry.ctx ??= new Context(toContextEvent(message), '', clock)
      outcomes.settleLater(entry, withFormerSize(toDeliveryError(error), original))
      return false
    }
    if (isDisabled) outcomes.settleLater(entry, undefined)
    else outcomes.refuse(entry)
    return isDisabled
  }
}

/** A call with bad arguments has none. */
function idOf(message: Message | DeliveryError): string | undefined {
  return message instanceof DeliveryError ? undefined : message.messageId
}
