import { DeliveryError } from '../errors/errors.ts'
import { emit } from '../events/emitter.ts'
import { buildMessage } from '../message/build.ts'
import { applyScope, type Scope } from '../message/scope.ts'
import { serialize, toMessageError } from '../message/serialize.ts'
import type { Kind, Message } from '../message/types.ts'
import { byteLength, MAX_BYTES_PER_UNIT, read } from '../message/utf8.ts'
import { copyToContextEvent, kindOf, toContextEvent } from '../message/wire.ts'
import { type Callback, Context } from '../pipeline/context.ts'
import { soon } from '../runtime/clock.ts'
import { watchExit } from '../runtime/exit.node.ts'
import { AsyncResource } from '../runtime/platform.node.ts'
import type { RecoveredMessage } from '../settings/journal.ts'
import { handOverTurn, onExit } from './close.ts'
import type { Core } from './core.ts'
import { createItem, type Item } from './item.ts'
import { ELSEWHERE } from './owner.ts'
import { settle } from './settle.ts'
import { fullError, schedulePass, store } from './turn.ts'

/** Plugins may shorten an event, so it may be larger before them. */
const MIN_COPY_BYTES = 1_048_576

/** What a call was given, after all code of the user that belongs to it has run. */
interface Taken {
  readonly message: Message | undefined
  readonly error: DeliveryError | undefined
  /** The message as JSON; empty if there is a context instead. */
  readonly json: string
  /** A copy for plugins, or for those who hear of an early failure. */
  readonly ctx: Context | undefined
  readonly isDisabled: boolean
}

/**
 * Takes one call: checks it, copies what it was given, keeps the bounds, and adds the event to the turn. Nothing else happens
 * before the turn is over.
 *
 * @param isPromised Whether the call is one of `analytics.promises`: it is sent at the end of the turn, and bad arguments reject.
 * @throws DeliveryError for a bad call, when `strict` is set, unless the call is a promise.
 * @see docs/spec.md, section 6
 */
export function accept(
  core: Core,
  kind: Kind,
  params: unknown,
  given: Callback | undefined,
  scope?: Scope,
  isPromised = false,
): void {
  const { settings, pipeline, counts } = core
  const callback = typeof given === 'function' ? given : undefined
  if (!core.owner.isMine()) return refuseElsewhere(core, kind, callback, isPromised)
  const taken = take(core, kind, params, callback, scope)
  const { message, json, ctx, isDisabled } = taken
  if (
    taken.error !== undefined &&
    taken.error.code !== 'queue_full' &&
    settings.strict &&
    !isPromised &&
    !core.isClosed
  )
    throw taken.error
  // From here on no code of the user runs until the event has joined the turn.
  const error = core.isClosed
    ? closedError()
    : (taken.error ?? (hasRoom(core, json) ? undefined : fullError(core)))
  const hasContext = (callback !== undefined && !isPromised) || !pipeline.isEmpty
  const isHandedOver = settings.waitUntil !== undefined
  const isAwaited = callback !== undefined || isHandedOver
  const item = createItem(
    kind,
    ++counts.accepted,
    callback,
    hasContext ? new AsyncResource('Trackpost') : undefined,
    isAwaited,
    isPromised || isHandedOver || (callback !== undefined && core.isCallbackUrgent),
    pipeline.isEmpty ? 0 : pipeline.depth,
    isDisabled,
    false,
    error,
    json === '' || (error === undefined && !isDisabled) ? ctx : unsentContext(core, callback, error, json),
  )
  if (isAwaited) counts.awaited++
  if (error === undefined && json !== '' && !isDisabled) store(core, item, json)
  join(core, item)
  if (core.isClosed) emit(core.client, 'call_after_close', message ?? (params as Message))
  if (settings.waitUntil !== undefined) handOverTurn(core, settings.waitUntil)
}

/** Takes a message that an earlier process left in the journal. Returns whether it is one. */
export function admit(core: Core, { record, message }: RecoveredMessage): boolean {
  const json = read(message)
  const kind = kindOf(json)
  if (kind === undefined) return false
  const { counts } = core
  counts.recovered++
  const item = createItem(kind, ++counts.accepted, undefined, undefined, false, true, 0, false, true)
  item.record = record
  store(core, item, json)
  join(core, item)
  return true
}

function join(core: Core, item: Item): void {
  core.counts.pending++
  const isExiting = core.turn.length === 0 && watchExit(core.exiting)
  core.turn.push(item)
  if (isExiting) onExit(core)
  else schedulePass(core)
}

/** Runs all code of the user that belongs to a call. */
function take(
  core: Core,
  kind: Kind,
  params: unknown,
  callback: Callback | undefined,
  scope: Scope | undefined,
): Taken {
  const { settings, pipeline, clock } = core
  let message: Message | undefined
  try {
    const outer = settings.scope === undefined ? undefined : core.askScope()
    const inner = scope === undefined ? params : applyScope(scope, params)
    const merged = outer === undefined ? inner : applyScope(outer, inner)
    message = buildMessage(kind, merged, core.stamp, clock.now())
    const isDisabled = core.askDisabled?.() ?? false
    if (!pipeline.isEmpty && pipeline.concerns(kind)) {
      // A copy, because plugins may change it but must not change the caller's objects.
      const copy = copyToContextEvent(message, Math.max(settings.maxMessageBytes, MIN_COPY_BYTES))
      return { message, error: undefined, json: '', ctx: new Context(copy), isDisabled }
    }
    // Nobody will see an event that finds no room and that nobody follows, so it need not be written.
    if (core.counts.pending >= settings.maxQueueSize && !isHeard(core, callback)) {
      return { message, error: fullError(core), json: '', ctx: undefined, isDisabled }
    }
    const json = serialize(message, settings.maxMessageBytes)
    return { message, error: undefined, json, ctx: undefined, isDisabled }
  } catch (thrown) {
    const error = toMessageError(thrown)
    const isReadable = message !== undefined && error.code !== 'unserializable'
    const ctx = isReadable ? new Context(toContextEvent(message as Message)) : undefined
    return { message, error, json: '', ctx, isDisabled: false }
  }
}

/** The bounds count every event without an outcome: inside plugins by number alone. */
function hasRoom({ counts, settings }: Core, json: string): boolean {
  if (counts.pending >= settings.maxQueueSize) return false
  const leftBytes = settings.maxQueueBytes - counts.bytes
  // The exact length is only needed near the bound.
  return json.length * MAX_BYTES_PER_UNIT <= leftBytes || byteLength(json) <= leftBytes
}

function isHeard({ listeners }: Core, callback: Callback | undefined): boolean {
  return callback !== undefined || listeners.has('error')
}

/** What is not sent is not stored: plugins, and those who hear of it, get it in its context. */
function unsentContext(
  core: Core,
  callback: Callback | undefined,
  error: DeliveryError | undefined,
  json: string,
): Context | undefined {
  const isNeeded = error === undefined || isHeard(core, callback)
  return isNeeded ? new Context(undefined, json) : undefined
}

function closedError(): DeliveryError {
  return new DeliveryError('closed', 'the client was closed')
}

/** The call comes from another request than the one that the client serves: its turn is none of this client's. */
function refuseElsewhere(core: Core, kind: Kind, callback: Callback | undefined, isPromised: boolean): void {
  const error = new DeliveryError('invalid', ELSEWHERE)
  if (core.settings.strict && !isPromised) throw error
  const item = createItem(kind, ++core.counts.accepted, callback, new AsyncResource('Trackpost'))
  core.counts.pending++
  soon(() => settle(core, [item], error))
}
