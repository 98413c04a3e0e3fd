import { emit } from '../client/emitter.ts'
import { mergeScopes } from '../client/scopes.ts'
import { DeliveryError } from '../errors/errors.ts'
import { createItem, type Item } from '../line/item.ts'
import type { StoredMessage } from '../line/store.ts'
import { buildMessage, type MessageDefaults } from '../message/build.ts'
import type { Scope } from '../message/scope.ts'
import { serialize, toMessageError } from '../message/serialize.ts'
import type { Kind, Message } from '../message/types.ts'
import { byteLength } from '../message/utf8.ts'
import { copyToContextEvent, kindOf, toContextEvent } from '../message/wire.ts'
import { type Callback, Context } from '../pipeline/context.ts'
import { soon } from '../runtime/clock.ts'
import { watchExit } from '../runtime/exit.node.ts'
import { AsyncResource } from '../runtime/platform.node.ts'
import type { CapturedContext } from '../runtime/platform.ts'
import type { Core } from './core.ts'
import { handOverTurn } from './hand-over.ts'
import { ELSEWHERE } from './owner.ts'
import { countLoss, isWanted, settle } from './settle.ts'
import { displaceFor, fullError, isCrowded, schedulePass, settleAtEnd } from './turn.ts'

/** Plugins may shorten an event, so it may be larger before them. */
const MIN_COPY_BYTES = 1_048_576

/** What a call was given, after all code of the user that belongs to it has run. */
interface Taken {
  readonly message: Message | undefined
  readonly error: DeliveryError | undefined
  /** The message as JSON, if no plugin is registered; otherwise a copy for the plugins. */
  readonly json: string
  readonly ctx: Context | undefined
  readonly isDisabled: boolean
}

/**
 * Takes one call: checks it, copies what it was given, keeps the bounds, and adds the event to the turn. No callback runs before
 * this function has returned.
 *
 * @param defaults Values for fields that the call leaves out.
 * @param isPromised Whether the call is one of `analytics.promises`: it is sent at the end of the turn, and bad arguments reject.
 * @throws DeliveryError for a bad call, when `strict` is set, unless the call is a promise.
 * @see docs/spec.md, section 6
 */
export function accept(
  core: Core,
  kind: Kind,
  params: unknown,
  given: Callback | undefined,
  defaults?: MessageDefaults,
  isPromised = false,
): void {
  const callback = typeof given === 'function' ? given : undefined
  if (!core.owner.isMine()) return refuseElsewhere(core, kind, callback, isPromised)
  const taken = take(core, kind, params, callback, defaults)
  const { error, message } = taken
  const { settings, line, pipeline } = core
  if (error !== undefined && error.code !== 'queue_full' && settings.strict && !isPromised && !core.isClosed)
    throw error
  // From here on no code of the user runs until the event has joined the turn.
  const hasContext = (callback !== undefined && !isPromised) || !pipeline.isEmpty
  const captured = hasContext ? new AsyncResource('Trackpost') : undefined
  const isUrgent = isPromised || (callback !== undefined && core.isCallbackUrgent)
  const outcome = core.isClosed ? closedError() : error
  const isEarly = outcome !== undefined || (taken.isDisabled && taken.ctx === undefined)
  const bytes = taken.ctx === undefined && !isEarly ? byteLength(taken.json) : 0
  if (isEarly) joinEarly(core, kind, taken, outcome, callback, captured)
  else if (line.hasRoom(bytes) || displaceFor(core, bytes)) {
    const item = count(core, kind, callback, captured, isUrgent)
    item.isDisabled = taken.isDisabled
    item.ctx = taken.ctx
    if (taken.ctx === undefined) item.stored = core.memory.put(taken.json)
    line.join(item, bytes)
    if (isUrgent) core.isFlushRequested = true
    schedulePass(core)
  } else joinEarly(core, kind, taken, fullError(core), callback, captured)
  if (core.isClosed) emit(core.client, 'call_after_close', message ?? (params as Message))
  if (settings.waitUntil !== undefined) handOverTurn(core, settings.waitUntil)
}

/**
 * Takes a message from the spool.
 *
 * @param waiting The item of the message; `undefined` for a message of an earlier process.
 * @returns Whether `json` is a message.
 */
export function admit(core: Core, json: string, stored: StoredMessage, waiting: Item | undefined): boolean {
  const kind = kindOf(json)
  if (kind === undefined) return false
  if (waiting === undefined) core.counts.recovered++
  const item = waiting ?? count(core, kind, undefined, undefined, true)
  item.isHandled = true
  item.stored = stored
  if (item.passedPlugins) item.ctx ??= new Context(undefined, json, core.clock)
  core.line.join(item, stored.bytes)
  core.isFlushRequested = true
  schedulePass(core)
  return true
}

/** Runs all code of the user that belongs to a call. */
function take(
  core: Core,
  kind: Kind,
  params: unknown,
  callback: Callback | undefined,
  defaults: MessageDefaults | undefined,
): Taken {
  const { settings, pipeline, clock, line } = core
  let message: Message | undefined
  try {
    const scope = settings.scope === undefined ? undefined : core.askScope()
    const scoped = scope === undefined ? defaults : mergeScopes(scope, defaults as Scope | undefined)
    message = buildMessage(kind, params, core.stamp, clock.now(), scoped)
    const isDisabled = core.askDisabled?.() ?? false
    const isRefused = line.isFull && settings.overflow === 'drop-newest' && core.spool === undefined
    if (isRefused && !isDisabled && !core.isClosed && !isWanted(core, callback)) {
      // Nobody will see the event, so it need not be written.
      return { message, error: fullError(core), json: '', ctx: undefined, isDisabled }
    }
    if (!pipeline.concerns(kind)) {
      const json = serialize(message, settings.maxMessageBytes)
      return { message, error: undefined, json, ctx: undefined, isDisabled }
    }
    // A copy, because plugins may change it but must not change the caller's objects.
    const copy = copyToContextEvent(message, Math.max(settings.maxMessageBytes, MIN_COPY_BYTES))
    return { message, error: undefined, json: '', ctx: new Context(copy, '', clock), isDisabled }
  } catch (error) {
    return { message, error: toMessageError(error), json: '', ctx: undefined, isDisabled: false }
  }
}

function count(
  core: Core,
  kind: Kind,
  callback: Callback | undefined,
  captured: CapturedContext | undefined,
  isUrgent = false,
): Item {
  const { counts } = core
  counts.accepted++
  counts.open++
  if (callback !== undefined) counts.awaited++
  watchExit(core.exiting)
  return createItem(kind, counts.accepted, callback, captured, isUrgent, core.pipeline.depth)
}

/** The call comes from another request, whose turn is none of this client's. */
function refuseElsewhere(core: Core, kind: Kind, callback: Callback | undefined, isPromised: boolean): void {
  const error = new DeliveryError('invalid', ELSEWHERE)
  if (core.settings.strict && !isPromised) throw error
  const item = count(core, kind, callback, new AsyncResource('Trackpost'))
  soon(() => settle(core, item, error))
}

/** The outcome is known already; it is told at the end of the turn. */
function joinEarly(
  core: Core,
  kind: Kind,
  { message, json, ctx, isDisabled }: Taken,
  error: DeliveryError | undefined,
  callback: Callback | undefined,
  captured: CapturedContext | undefined,
): void {
  const isFull = isCrowded(core)
  if (error !== undefined && callback === undefined && (isFull || !isWanted(core, callback))) {
    countLoss(core, error)
    schedulePass(core)
    return
  }
  const item = count(core, kind, callback, captured)
  item.isDisabled = isDisabled
  if (!isFull && message !== undefined && error?.code !== 'unserializable') {
    item.ctx = ctx ?? contextOf(core, message, json)
  }
  settleAtEnd(core, item, error)
}

function contextOf(core: Core, message: Message, json: string): Context {
  return json === ''
    ? new Context(toContextEvent(message), '', core.clock)
    : new Context(undefined, json, core.clock)
}

function closedError(): DeliveryError {
  return new DeliveryError('closed', 'the client was closed')
}
