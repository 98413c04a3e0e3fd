import type { Backlog } from '../delivery/backlog.ts'
import { DeliveryError, isInstance } from '../errors/errors.ts'
import type { AnalyticsEvents } from '../events.ts'
import { buildMessage, type MessageStamp } from '../message/build.ts'
import { isMessageId } from '../message/message-id.ts'
import { requireSize, serialize } from '../message/serialize.ts'
import type { Kind, Message } from '../message/types.ts'
import { byteLength } from '../message/utf8.ts'
import {
  Context,
  type ContextEvent,
  copyToContextEvent,
  toContextEvent,
  toWire,
} from '../pipeline/context.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { Callback } from '../tracker.ts'
import type { Emitter } from './emitter.ts'
import { createEntry, type Entry } from './entry.ts'
import type { Ledger } from './ledger.ts'
import type { Outcomes } from './outcomes.ts'

export interface IntakeOptions {
  readonly settings: Pick<ResolvedSettings, 'disable' | 'maxMessageBytes' | 'strict'>
  readonly stamp: MessageStamp
  readonly clock: Clock
  readonly ledger: Ledger
  readonly pipeline: Pipeline
  readonly backlog: Backlog<Entry>
  readonly outcomes: Outcomes
  readonly emitter: Emitter<AnalyticsEvents>
  /** Called for each accepted call, bad ones included. */
  readonly onAccepted: () => void
}

/** From a call to the backlog: builds the message, takes it through the plugins and hands its JSON on. */
export class Intake {
  readonly #options: IntakeOptions
  /** Events inside asynchronous plugins. */
  readonly #inPlugins = new Set<Entry>()
  #isClosed = false

  constructor(options: IntakeOptions) {
    this.#options = options
  }

  /** From now on every call fails with `closed`. */
  close(): void {
    this.#isClosed = true
  }

  /**
   * Takes one call. The event is in the backlog when this returns, unless it waits for a plugin.
   *
   * @throws DeliveryError for a bad call, when `strict` is set.
   */
  submit(kind: Kind, params: unknown, callback: Callback | undefined): void {
    const { settings, stamp, clock, pipeline, outcomes } = this.#options
    let message: Message
    try {
      message = buildMessage(kind, params, stamp, clock.now())
    } catch (error) {
      if (this.#isClosed) return this.#refuseClosed(kind, params, callback, undefined)
      const failure = toDeliveryError(error)
      if (settings.strict) throw failure
      return outcomes.settleLater(this.#accept(kind, callback, undefined), failure)
    }
    if (this.#isClosed) return this.#refuseClosed(kind, message, callback, message)
    if (pipeline.concerns(kind)) this.#submitToPlugins(kind, message, callback)
    else this.#hand(this.#accept(kind, callback, undefined), message)
  }

  /** Ends the events inside plugins with `error`. */
  abandon(error: DeliveryError): void {
    const entries = [...this.#inPlugins]
    for (const entry of entries) this.#leave(entry)
    for (const entry of entries) this.#options.outcomes.settle(entry, error, 0)
  }

  #refuseClosed(
    kind: Kind,
    submitted: unknown,
    callback: Callback | undefined,
    message: Message | undefined,
  ): void {
    const { emitter, outcomes } = this.#options
    emitter.emit('call_after_close', submitted as Message)
    const ctx = message === undefined ? undefined : new Context(toContextEvent(message))
    const error = new DeliveryError('closed', 'the client was closed')
    outcomes.settleLater(this.#accept(kind, callback, ctx), error)
  }

  #accept(kind: Kind, callback: Callback | undefined, ctx: Context | undefined): Entry {
    const { ledger, onAccepted } = this.#options
    const entry = createEntry(kind, ledger.accept(), callback, ctx)
    onAccepted()
    return entry
  }

  #submitToPlugins(kind: Kind, message: Message, callback: Callback | undefined): void {
    const { backlog, outcomes, pipeline } = this.#options
    let ctx: Context
    try {
      // A copy: plugins may write to it, and never to what is the caller's.
      ctx = new Context(copyToContextEvent(message))
    } catch (error) {
      return outcomes.settleLater(this.#accept(kind, callback, undefined), toDeliveryError(error))
    }
    const entry = this.#accept(kind, callback, ctx)
    if (this.#inPlugins.size > 0 && !backlog.hasRoom()) return outcomes.refuse(entry)
    const isDone = pipeline.run(kind, ctx, (error) => {
      this.#leave(entry)
      // Its time was over while it was inside a plugin.
      if (entry.isSettled) return
      if (error === undefined) this.#leavePlugins(entry, ctx, message)
      else outcomes.settleLater(entry, error)
    })
    if (isDone) return
    this.#inPlugins.add(entry)
    backlog.reserve(0)
  }

  #leave(entry: Entry): void {
    if (this.#inPlugins.delete(entry)) this.#options.backlog.unreserve(0)
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
    if (this.#hand(entry, ctx.event, original)) {
      outcomes.countWork(entry.epoch, pipeline.distribute(kind, ctx))
    }
  }

  /** From here on the event is its JSON. */
  #hand(entry: Entry, message: Message | ContextEvent, original?: Message): boolean {
    const { settings, backlog, outcomes } = this.#options
    try {
      const json = serialize(toWire(message))
      if (settings.disable) requireSize(json, settings.maxMessageBytes)
      const isTaken = !settings.disable && backlog.add(entry, json, entry.epoch.isSealed)
      entry.passedPlugins = original !== undefined
      if (isTaken) return true
      entry.ctx ??= new Context(undefined, json)
    } catch (error) {
      entry.ctx ??= new Context(toContextEvent(message))
      outcomes.settleLater(entry, withFormerSize(toDeliveryError(error), original))
      return false
    }
    if (settings.disable) outcomes.settleLater(entry, undefined)
    else outcomes.refuse(entry)
    return settings.disable
  }
}

function toDeliveryError(error: unknown): DeliveryError {
  if (isInstance(error, DeliveryError)) return error
  return new DeliveryError('unserializable', 'a field of the event throws when it is read', { cause: error })
}

function toPluginError(error: unknown): DeliveryError {
  if (isInstance(error, DeliveryError)) return error
  return new DeliveryError('plugin', 'a plugin set ctx.event to something that is not an event', {
    cause: error,
  })
}

/** A reader who looks for what made an event too large should learn whether it was a plugin. */
function withFormerSize(error: DeliveryError, original: Message | undefined): DeliveryError {
  if (error.code !== 'too_large' || original === undefined) return error
  try {
    const bytes = byteLength(serialize(original))
    return new DeliveryError(error.code, `${error.message}; before the plugins it had ${bytes}`)
  } catch {
    return error
  }
}
