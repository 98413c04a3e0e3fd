import { emit } from '../client/emitter.ts'
import type { ErrorEvent } from '../client/events.ts'
import { DeliveryError, EARLY_CODES, type FailureCode } from '../errors/errors.ts'
import { guard, isThenable } from '../errors/guard.ts'
import type { Item } from '../line/item.ts'
import { Context } from '../pipeline/context.ts'
import { unwatchExit } from '../runtime/exit.node.ts'
import type { Core, Flush } from './core.ts'
import { countOutcome, outcomeOf, pendingOf } from './counts.ts'
import { troubleOf } from './service.ts'

/**
 * The only function that gives an event its outcome: delivered if `given` is `undefined`, otherwise failed. The room of the
 * event is freed before anybody is told, because a callback may track again.
 *
 * @see docs/spec.md, section 6
 */
export function settle(core: Core, item: Item, given: DeliveryError | undefined): void {
  if (item.state === 'done') return
  const { line, pipeline, monitor, client, counts } = core
  line.leave(item)
  item.state = 'done'
  const error = given?.code === 'shutdown_timeout' && isDeferred(core, item) ? deferred() : given
  const { kind, attempts, callback } = item
  const isHeard = error?.code !== 'deferred' && core.listeners.has(error === undefined ? kind : 'error')
  const isFollowed = item.passedPlugins && pipeline.isFollowed(kind)
  const ctx = item.ctx ?? contextOf(core, item, isHeard || isFollowed)
  ctx?.conclude(error, attempts)
  if (error !== undefined) monitor.noteLoss(error)
  release(core, item)
  if (callback !== undefined) counts.awaited--
  countOutcome(counts, error?.code)
  countInFlushes(core, item, error?.code)
  const isUntold = callback === undefined || call(core, item, error, ctx)
  if (error === undefined) {
    if (ctx !== undefined) emit(client, kind, ctx)
  } else if (isHeard) emit(client, 'error', errorEvent(error, ctx))
  else if (isUntold && error.code !== 'deferred') core.warnings.reportLoss(error)
  // `after` plugins run after the outcome, and a flush waits for these plugins too.
  if (isFollowed && ctx !== undefined) countWork(core, item, pipeline.conclude(item, ctx))
  endWork(core, item)
  if (pendingOf(counts) === 0) {
    unwatchExit(core.exiting)
    emit(client, 'drained')
  }
}

/** Tells one outcome after the other. If a callback ends the process meanwhile, the end of the client tells the rest first. */
export function tellEach<One>({ telling }: Core, outcomes: readonly One[], tell: (one: One) => void): void {
  const left = outcomes.values()
  const finish = (): void => {
    for (const one of left) tell(one)
  }
  telling.push(finish)
  finish()
  telling.pop()
}

/** Gives events the same outcome. */
export function settleAll(core: Core, items: readonly Item[], error: DeliveryError | undefined): void {
  tellEach(core, items, (item) => settle(core, item, error))
}

/** A call that nobody follows has failed: it is only counted. */
export function countLoss(core: Core, error: DeliveryError): void {
  core.counts.accepted++
  countOutcome(core.counts, error.code)
  noteUntold(core, error)
}

/** Like {@link settle}, for an event without a callback whose listeners are told at the end of the turn, without the event. */
export function settleUntold(core: Core, item: Item, error: DeliveryError): void {
  item.state = 'done'
  countOutcome(core.counts, error.code)
  countInFlushes(core, item, error.code)
  endWork(core, item)
  noteUntold(core, error)
}

function noteUntold({ untold }: Core, error: DeliveryError): void {
  const noted = untold.get(error.code)
  if (noted === undefined) untold.set(error.code, { error, count: 1 })
  else noted.count++
}

/** Whether somebody will get the context of an event with this callback if it fails. */
export function isWanted(core: Core, callback: unknown): boolean {
  return callback !== undefined || core.listeners.has('error')
}

/** Whether somebody still needs the context of this event. */
export function isContextNeeded(core: Core, { callback, kind }: Item): boolean {
  const { listeners, pipeline } = core
  if (callback !== undefined || pipeline.isFollowed(kind)) return true
  return listeners.has(kind) || listeners.has('error')
}

/** Makes the context of an event from its stored message, if it is wanted. */
export function contextOf(core: Core, { callback, stored }: Item, isHeard: boolean): Context | undefined {
  if (stored === undefined || (callback === undefined && !isHeard)) return undefined
  return new Context(undefined, core.store.read(stored), core.clock)
}

export function release(core: Core, item: Item): void {
  if (item.stored !== undefined) core.store.release(item.stored)
  item.stored = undefined
}

/** Makes flushes also wait for plugin work that does not affect the outcome of the event. */
export function countWork(core: Core, item: Item, work: Promise<unknown> | undefined): void {
  if (work === undefined) return
  core.counts.open++
  for (const flush of core.flushes) if (flush.countsWork && covers(flush, item)) flush.open++
  void work.then(() => endWork(core, item))
}

function endWork(core: Core, item: Item): void {
  core.counts.open--
  countDown(core.flushes, item, true)
}

function countInFlushes(core: Core, item: Item, code: FailureCode | 'deferred' | undefined): void {
  const { flushes } = core
  for (const flush of flushes) if (covers(flush, item)) flush[outcomeOf(code)]++
  countDown(flushes, item, false)
}

function countDown(flushes: readonly Flush[], item: Item, isWork: boolean): void {
  for (let index = 0; index < flushes.length; ) {
    const flush = flushes[index] as Flush
    if (flush.countsWork === isWork && covers(flush, item) && --flush.open === 0) flush.end()
    // One that has ended has left the list.
    if (flushes[index] === flush) index++
  }
}

function covers({ upTo, upToOrder }: Flush, { seq, order }: Item): boolean {
  return seq <= upTo && order <= upToOrder
}

/** While the service fails, the message names that failure, and `cause` is that failure. */
export function errorInTrouble(core: Core, code: FailureCode, text: string): DeliveryError {
  const trouble = troubleOf(core.service, 'retries_exhausted')
  if (trouble === undefined) return new DeliveryError(code, text)
  return new DeliveryError(code, `${text}; the service failed with: ${trouble.message}`, { cause: trouble })
}

/** Leaves the event in the spool for the next start. Returns whether the spool has the event. */
function isDeferred({ spool }: Core, { stored }: Item): boolean {
  return stored !== undefined && spool?.defer(stored) === true
}

export function deferred(): DeliveryError {
  return new DeliveryError('deferred', 'the client was closed; the event is in the spool')
}

/** @returns Whether the callback has returned itself: in this way, `trackpost/compat` says that it has told nobody. */
function call(
  core: Core,
  { callback, asyncContext }: Item,
  error: DeliveryError | undefined,
  ctx: Context | undefined,
): boolean {
  let result: unknown
  const run = (): void => {
    guard(
      () => {
        result = callback?.(error, ctx)
        return followWork(core, result)
      },
      (reason) => core.warnings.report('callback', reason, ctx),
    )
  }
  if (asyncContext === undefined) run()
  else asyncContext.runInAsyncScope(run)
  return result === callback
}

/** Notes that a callback has begun work, if it has returned a promise. Returns that promise. */
function followWork({ callbackWork }: Core, result: unknown): Promise<unknown> | undefined {
  if (!isThenable(result)) return undefined
  const work = Promise.resolve(result)
  callbackWork.add(work)
  const forget = (): boolean => callbackWork.delete(work)
  work.then(forget, forget)
  return work
}

const EARLY = new Set<string>(EARLY_CODES)

export function errorEvent(reason: DeliveryError, ctx: Context | undefined): ErrorEvent {
  const isOfResponse = reason.code === 'too_large' && reason.status !== undefined
  const code = EARLY.has(reason.code) && !isOfResponse ? reason.code : 'delivery_failure'
  return ctx === undefined ? { code, reason } : { code, reason, ctx }
}
