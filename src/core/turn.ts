import { emit } from '../client/emitter.ts'
import type { DeliveryError } from '../errors/errors.ts'
import type { Item } from '../line/item.ts'
import { checkMessage } from '../message/build.ts'
import { serialize } from '../message/serialize.ts'
import { Context } from '../pipeline/context.ts'
import { toPluginError } from '../pipeline/handler-result.ts'
import { afterLoop, soon } from '../runtime/clock.ts'
import { isEnding } from '../runtime/exit.node.ts'
import type { Core } from './core.ts'
import { armInterval, pump } from './pump.ts'
import { noteDue } from './service.ts'
import {
  contextOf,
  countWork,
  errorEvent,
  errorInTrouble,
  isContextNeeded,
  release,
  settle,
  settleUntold,
  tellEach,
} from './settle.ts'
import { catchUp } from './share.ts'

/** After so many passes without the event loop having run, the next one waits for it. @see docs/spec.md, section 6 */
export const MAX_PASSES = 1_000
/** From so many passes on, a timer tells when the event loop runs. */
const WATCHED_FROM = 256

/** Everything that happens to the events of a turn happens in one pass at its end. */
export function schedulePass(core: Core): void {
  if (core.isPassScheduled) return
  core.isPassScheduled = true
  if (isEnding()) core.exiting.onEnd()
  else soon(() => endTurn(core))
}

/** While so many early outcomes wait for the end of the turn, events that no callback awaits are only counted. */
const MAX_EARLY = 1_000

export function isCrowded({ early }: Core): boolean {
  return early.length >= MAX_EARLY
}

/** Gives an event its outcome at the end of the turn. */
export function settleAtEnd(core: Core, item: Item, error: DeliveryError | undefined): void {
  core.early.push({ item, error })
  schedulePass(core)
}

/**
 * The pass: tells early outcomes, runs plugins, writes events to the line and the spool, and starts requests. What is tracked
 * meanwhile belongs to the next turn.
 *
 * @see docs/spec.md, section 6
 */
export function endTurn(core: Core): void {
  // The timer runs this pass.
  if (core.passes >= MAX_PASSES) return
  countPass(core)
  core.isPassScheduled = false
  const upTo = core.line.lastOrder
  const { early, afterPass } = core
  core.early = []
  core.afterPass = []
  core.fullError = undefined
  core.displacedError = undefined
  tellUntold(core)
  tellEach(core, early, ({ item, error }) => settle(core, item, error))
  passTurn(core, upTo)
  for (const run of afterPass) run()
  start(core)
}

/** Events that nobody followed are lost: reported once for each reason. */
function tellUntold(core: Core): void {
  if (core.untold.size === 0) return
  const all = [...core.untold.values()]
  core.untold.clear()
  for (const { error, count } of all) {
    core.monitor.noteLoss(error)
    if (!core.listeners.has('error')) core.warnings.reportLoss(error)
    else for (let told = 0; told < count; told++) emit(core.client, 'error', errorEvent(error, undefined))
  }
}

/** Runs plugins for the events of the turn up to this place, and writes them to the line and the spool. */
export function passTurn(core: Core, upTo: number): void {
  const { line, pipeline } = core
  if (pipeline.isEmpty && core.spool === undefined) return line.passAll()
  for (let item = line.turnFirst; item !== undefined && item.order <= upTo; item = line.turnFirst) {
    // Without plugins at its call, the event has its message already.
    const isWritten = item.stored !== undefined
    if (item.isHandled || (isWritten && !pipeline.concerns(item.kind))) place(core, item)
    else runPlugins(core, item)
  }
}

/** The first event of the turn needs no plugin any more: it waits to be sent, or in the spool alone. */
function place(core: Core, item: Item): void {
  if (item.isDisabled) return settle(core, item, undefined)
  core.line.passFirst()
  store(core, item)
}

function store(core: Core, item: Item): void {
  const { spool, line, settings } = core
  if (spool === undefined || item.stored === undefined || spool.has(item.stored)) return
  const { maxQueueSize, maxQueueBytes } = settings
  const isOver = line.size - line.turnLength > maxQueueSize || line.bytes - line.turnBytes > maxQueueBytes
  // Also if earlier events still wait in the spool alone.
  if ((isOver || spool.length > 0) && spool.spill(item)) {
    line.leave(item)
    item.order = Number.POSITIVE_INFINITY
  } else spool.keep(item.stored)
}

function runPlugins(core: Core, item: Item): void {
  const { line, pipeline, inPlugins } = core
  line.remove(item)
  item.state = 'plugins'
  // Inside plugins, a number bounds the events.
  line.count(0, -item.bytes)
  item.bytes = 0
  const original = item.stored === undefined ? undefined : core.store.read(item.stored)
  const ctx = item.ctx ?? new Context(undefined, original, core.clock)
  item.ctx = ctx
  release(core, item)
  let wasInside = false
  inPlugins.add(item)
  const onDone = (error: DeliveryError | undefined, ctx: Context): void => {
    inPlugins.delete(item)
    if (item.state === 'done') return
    item.ctx = ctx
    item.isHandled = true
    if (error === undefined) leavePlugins(core, item, ctx, wasInside)
    else settle(core, item, error)
    if (wasInside) tellLeft(core, item)
  }
  if (item.asyncContext === undefined) pipeline.run(item, ctx, onDone)
  else item.asyncContext.runInAsyncScope(() => pipeline.run(item, ctx, onDone))
  if (!inPlugins.has(item)) return
  wasInside = true
  // While it is inside, a flush in a handler does not wait for it.
  item.order = Number.POSITIVE_INFINITY
}

/** @param wasInside Whether the event has left the turn meanwhile: it joins the present turn. */
function leavePlugins(core: Core, item: Item, ctx: Context, wasInside: boolean): void {
  const { line, pipeline, settings } = core
  try {
    const stored = core.memory.put(jsonOf(item, ctx, settings.maxMessageBytes))
    item.passedPlugins = true
    item.stored = stored
    const isFull = line.bytes + stored.bytes > settings.maxQueueBytes
    if (isFull && core.spool === undefined && !displaceFor(core, stored.bytes)) {
      return settle(core, item, fullError(core))
    }
    item.bytes = stored.bytes
    line.count(0, stored.bytes)
  } catch (error) {
    return settle(core, item, toPluginError(error))
  }
  if (wasInside) {
    line.rejoin(item)
    if (item.isUrgent || core.flushes.length > 0) core.isFlushRequested = true
    schedulePass(core)
  } else line.putBack(item)
  countWork(core, item, pipeline.distribute(item, ctx))
  if (item.isDisabled) settle(core, item, undefined)
  // A destination may have ended the event, or made others displace it.
  if (item.state !== 'line') return
  // Saves memory: if needed, the context is made again from the stored message.
  if (!ctx.hasNotes && !isContextNeeded(core, item)) item.ctx = undefined
  if (!wasInside) store(core, item)
}

function jsonOf({ kind }: Item, ctx: Context, maxBytes: number): string {
  if (ctx.event.type !== kind) ctx.event = { ...ctx.event, type: kind }
  return serialize(checkMessage(kind, ctx.event), maxBytes)
}

export function tellLeft(core: Core, item: Item): void {
  for (const one of core.leaving) {
    if (!one.items.delete(item) || one.items.size > 0) continue
    core.leaving.delete(one)
    // The event has joined the present turn, so the promise resolves after that.
    core.afterPass.push(one.resolve)
    schedulePass(core)
  }
}

/** A flush never waits for less time than its events, which are told first. */
function beginFlushes({ flushes, service, line, clock }: Core): void {
  const nowMs = clock.monotonic()
  noteDue(service, line.dueOrder, nowMs)
  for (const flush of flushes) flush.beganMs = Math.min(flush.beganMs, nowMs)
}

/** Sends what is due. */
function start(core: Core): void {
  const { line, settings, service } = core
  const isNearlyFull =
    line.size >= settings.maxQueueSize || line.bytes + settings.maxMessageBytes > settings.maxQueueBytes
  const isEnough = line.readyLength >= settings.flushAt || line.readyBytes >= service.ceiling.bytes
  catchUp(core)
  if (core.isFlushRequested || isNearlyFull || isEnough) line.makeAllDue()
  if (core.isFlushRequested) beginFlushes(core)
  core.isFlushRequested = false
  pump(core)
  armInterval(core)
}

/**
 * Makes room for a message by removing the oldest waiting events, with `drop-oldest`; with a spool, an event may exceed the
 * bound until the end of its turn.
 *
 * @returns Whether there is room.
 */
export function displaceFor(core: Core, bytes: number): boolean {
  const { line, settings } = core
  if (core.spool !== undefined) {
    // A burst goes to the disk; without plugins, nothing is lost by writing it before the turn is over.
    if (core.pipeline.isEmpty && line.turnLength > 0) passTurn(core, line.lastOrder)
    return line.turnLength < settings.maxQueueSize && line.turnBytes + bytes <= settings.maxQueueBytes
  }
  if (settings.overflow === 'drop-newest') return false
  const isPossible = line.couldHaveRoom(bytes)
  while (isPossible && !line.hasRoom(bytes)) displace(core, line.first as Item)
  return isPossible
}

function displace(core: Core, item: Item): void {
  core.displacedError ??= queueFull(core, 'the queue is full, and this was the oldest')
  core.line.leave(item)
  if (item.callback === undefined && isCrowded(core)) settleUntold(core, item, core.displacedError)
  else {
    // The message is released before the outcome is told, so the context is made now.
    if (!isCrowded(core)) item.ctx ??= contextOf(core, item, core.listeners.has('error'))
    settleAtEnd(core, item, core.displacedError)
  }
  release(core, item)
}

export function fullError(core: Core): DeliveryError {
  core.fullError ??= queueFull(core, 'the queue is full')
  return core.fullError
}

function queueFull(core: Core, text: string): DeliveryError {
  return errorInTrouble(core, 'queue_full', `${text}; see maxQueueSize and maxQueueBytes`)
}

function countPass(core: Core): void {
  core.passes++
  if (core.passes < WATCHED_FROM || core.cancelWatch !== undefined) return
  core.cancelWatch = afterLoop(() => {
    core.cancelWatch = undefined
    core.passes = 0
    // A pass that is due by now has waited for the event loop.
    if (core.isPassScheduled) endTurn(core)
  })
}
