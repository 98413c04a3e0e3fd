import type { DeliveryError } from '../errors/errors.ts'
import { checkMessage } from '../message/build.ts'
import { serialize } from '../message/serialize.ts'
import type { Context } from '../pipeline/context.ts'
import { toPluginError } from '../pipeline/handler-result.ts'
import type { Passage } from '../pipeline/pipeline.ts'
import { afterLoop, soon } from '../runtime/clock.ts'
import type { Core } from './core.ts'
import type { Item } from './item.ts'
import { makeDue, pump } from './pump.ts'
import { contextOf, errorInTrouble, follow, release, settle } from './settle.ts'

/** After so many passes without the event loop having run, the next one waits for it. @see docs/spec.md, section 6 */
const MAX_PASSES = 1_000
/** From so many passes on, a timer tells when the event loop runs. */
const WATCHED_FROM = 256

/** Everything that happens to the events of a turn happens in one pass at its end. */
export function schedulePass(core: Core): void {
  if (core.isPassScheduled) return
  core.isPassScheduled = true
  soon(() => endTurn(core))
}

/** Resolves when the turn is over. */
export function endOfTurn(core: Core): Promise<void> {
  return new Promise((resolve) => {
    core.afterPass.push(resolve)
    schedulePass(core)
  })
}

/** Resolves when the turn is over, and the events accepted so far have left their plugins and are in the journal. */
export async function handled(core: Core): Promise<void> {
  const { inPlugins, leaving } = core
  await endOfTurn(core)
  if (inPlugins.size === 0) return
  await new Promise<void>((resolve) => leaving.add({ items: new Set(inPlugins), resolve }))
  await endOfTurn(core)
}

/** The pass: early failures, plugins, bytes, line and journal, then requests. What is tracked meanwhile is of the next turn. */
export function endTurn(core: Core): void {
  // The timer runs this pass.
  if (core.passes >= MAX_PASSES) return
  core.passes++
  if (core.passes >= WATCHED_FROM && core.cancelWatch === undefined) watch(core)
  core.isPassScheduled = false
  const { afterPass } = core
  core.afterPass = []
  passTurn(core)
  for (const run of afterPass) run()
  start(core)
}

/** Brings the events of the turn to where they wait. */
export function passTurn(core: Core): void {
  // Code of the user may end the process within a pass: the pass at its end first goes on with the rest of that one.
  for (const item of core.passing) pass(core, item)
  core.passing = core.turn.values()
  core.turn = []
  core.fullError = undefined
  for (const item of core.passing) pass(core, item)
  if (core.unkept.length > 0) keep(core)
}

/** Whether an event needs plugins is decided here, and nowhere else. */
function pass(core: Core, item: Item): void {
  const { pipeline } = core
  if (item.error !== undefined) return settle(core, [item], item.error)
  if (!pipeline.isEmpty && !item.isRecovered && pipeline.concerns(item.kind)) return enterPlugins(core, item)
  if (item.isDisabled) return settle(core, [item], undefined)
  const error = item.stored === undefined ? write(core, item, item.ctx as Context) : undefined
  if (error === undefined) join(core, item)
  else settle(core, [item], error)
}

/** Inside plugins, a number bounds the events. */
function enterPlugins(core: Core, item: Item): void {
  const { pipeline, inPlugins } = core
  const ctx = contextOf(core, item) as Context
  item.ctx = ctx
  release(core, item)
  inPlugins.add(item)
  let isInPass = true
  const onDone = (error: DeliveryError | undefined, left: Context): void => {
    // The event was abandoned.
    if (!inPlugins.has(item)) return
    item.ctx = left
    leavePlugins(core, item, left, error)
    if (!isInPass) tellLeft(core, item)
  }
  const enter = (): void => {
    const passage = pipeline.enter(item, ctx, onDone)
    item.passage = passage
    pipeline.run(passage)
  }
  if (item.asyncContext === undefined) enter()
  else item.asyncContext.runInAsyncScope(enter)
  isInPass = false
}

/** Destination plugins may end the process, so meanwhile the event is in a list: in the line, if it is to be sent. */
function leavePlugins(core: Core, item: Item, ctx: Context, failure: DeliveryError | undefined): void {
  const { pipeline, settings, counts, inPlugins } = core
  let error = failure ?? write(core, item, ctx)
  if (error === undefined && counts.bytes > settings.maxQueueBytes) error = fullError(core)
  const isSent = error === undefined && !item.isDisabled
  if (isSent) {
    inPlugins.delete(item)
    join(core, item)
  }
  if (error === undefined) follow(core.pluginWork, pipeline.distribute(item.passage as Passage, ctx), item)
  if (!isSent) {
    inPlugins.delete(item)
    return settle(core, [item], error)
  }
  // Saves memory: if needed, the context is made again from the stored message.
  if (!ctx.hasNotes && !isContextNeeded(core, item)) item.ctx = undefined
}

/** Writes the message of an event that has its context. Returns why it cannot be written. */
function write(core: Core, item: Item, ctx: Context): DeliveryError | undefined {
  const { kind } = item
  try {
    if (ctx.event.type !== kind) ctx.event = { ...ctx.event, type: kind }
    store(core, item, serialize(checkMessage(kind, ctx.event), core.settings.maxMessageBytes))
    return undefined
  } catch (error) {
    return toPluginError(error)
  }
}

/** Keeps the message of an event as bytes. */
export function store(core: Core, item: Item, json: string): void {
  item.stored = core.store.put(json)
  item.bytes = item.stored.bytes
  core.counts.bytes += item.bytes
}

function join(core: Core, item: Item): void {
  const { line, journal } = core
  line.join(item)
  if (item.isUrgent) core.isFlushRequested = true
  if (journal !== undefined && item.record === undefined) core.unkept.push(item)
}

/** Writes what has joined the line to the journal. */
function keep(core: Core): void {
  const { unkept } = core
  core.unkept = []
  toJournal(
    core,
    unkept.filter(({ stored }) => stored !== undefined),
  )
}

/** Writes events to the journal that are not in it: the disk was full, or its files were removed. */
export function keepAgain(core: Core, items: readonly Item[]): void {
  const lost = items.filter(({ stored, record }) => stored !== undefined && record?.isKept !== true)
  for (const { record } of lost) if (record !== undefined) core.journal?.settled(record)
  toJournal(core, lost)
}

function toJournal({ journal, store }: Core, items: readonly Item[]): void {
  const records = journal?.append(items.map(({ stored }) => store.view(stored as never)))
  for (const [index, item] of items.entries()) item.record = records?.[index]
}

function tellLeft(core: Core, item: Item): void {
  schedulePass(core)
  for (const one of core.leaving) {
    if (!one.items.delete(item) || one.items.size > 0) continue
    core.leaving.delete(one)
    one.resolve()
  }
}

/** Whether somebody still needs the context of this event. */
function isContextNeeded({ listeners, pipeline }: Core, { callback, kind, passage }: Item): boolean {
  if (callback !== undefined || (passage !== undefined && pipeline.isFollowed(passage))) return true
  return listeners.has(kind) || listeners.has('error')
}

/** One error for all events of a turn that find no room. */
export function fullError(core: Core): DeliveryError {
  core.fullError ??= errorInTrouble(
    core,
    'queue_full',
    'the queue is full; see maxQueueSize and maxQueueBytes',
  )
  return core.fullError
}

/** Sends what is due. A flush never waits for less time than its events, which are told first. */
function start(core: Core): void {
  const { line, settings, service, flushes, clock } = core
  const nowMs = clock.monotonic()
  const isEnough = line.length >= settings.flushAt || line.bytes >= service.mostBytes
  if (core.isFlushRequested || isEnough || flushes.size > 0 || settings.flushInterval === 0) {
    makeDue(core, nowMs)
  } else if (!line.isAllDue && core.intervalMs === Number.POSITIVE_INFINITY) {
    core.intervalMs = nowMs + settings.flushInterval
  }
  core.isFlushRequested = false
  for (const flush of flushes) if (flush.beganMs > nowMs) flush.beganMs = nowMs
  pump(core, nowMs)
}

function watch(core: Core): void {
  core.cancelWatch = afterLoop(() => {
    core.cancelWatch = undefined
    core.passes = 0
    // A pass that is due by now has waited for the event loop.
    if (core.isPassScheduled) endTurn(core)
  })
}
