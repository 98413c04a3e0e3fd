import { emit } from '../client/emitter.ts'
import type { ErrorEvent } from '../client/events.ts'
import { DeliveryError, EARLY_CODES, type FailureCode } from '../errors/errors.ts'
import { guard, isThenable } from '../errors/guard.ts'
import { Context } from '../pipeline/context.ts'
import { unwatchExit } from '../runtime/exit.node.ts'
import type { Core, Flush } from './core.ts'
import { countOutcome, outcomeOf, pendingOf } from './counts.ts'
import type { Item } from './item.ts'

/**
 * The only function that gives events their outcome: delivered if `error` is `undefined`, otherwise failed. They have left
 * their list. The room of an event is freed before anybody is told, because a callback may track again.
 *
 * @see docs/spec.md, section 6
 */
export function settle(core: Core, items: readonly Item[], error: DeliveryError | undefined): void {
  for (const item of items) settleOne(core, item, error)
}

function settleOne(core: Core, item: Item, error: DeliveryError | undefined): void {
  const { listeners, pipeline, observer, client, counts, journal } = core
  const { kind, callback, passage } = item
  const isHeard = error?.code !== 'deferred' && listeners.has(error === undefined ? kind : 'error')
  const isFollowed = passage !== undefined && pipeline.isFollowed(passage)
  const ctx = core.isEnding || !(callback !== undefined || isHeard || isFollowed) ? undefined : contextOf(core, item)
  if (item.record !== undefined && error?.code !== 'deferred') journal?.settled(item.record)
  release(core, item)
  if (item.isAwaited) counts.awaited--
  countOutcome(counts, error?.code)
  countInFlushes(core, item, error?.code)
  if (error !== undefined) observer.onLoss(error)
  // At the end of the process nobody could do anything but exit again.
  if (core.isEnding) return
  ctx?.conclude(error, item.attempts)
  const isUntold = callback === undefined || call(core, item, error, ctx)
  if (error === undefined) {
    if (isHeard) emit(client, kind, ctx as Context)
  } else if (isHeard) emit(client, 'error', errorEvent(error, ctx))
  else if (isUntold && error.code !== 'deferred') observer.onUnheardLoss(error)
  if (isFollowed) follow(core.pluginWork, pipeline.conclude(passage, ctx as Context))
  if (pendingOf(counts) === 0) {
    core.wasKept = false
    unwatchExit(core.exiting)
    emit(client, 'drained')
  }
}

/** The context of an event: the one that plugins have had, or one of its message. `undefined` if the call was too malformed. */
export function contextOf(core: Core, { ctx, stored }: Item): Context | undefined {
  if (ctx !== undefined || stored === undefined) return ctx
  return new Context(undefined, core.store.read(stored), core.clock)
}

/** Frees the room of a message. */
export function release(core: Core, item: Item): void {
  core.counts.bytes -= item.bytes
  item.bytes = 0
  if (item.stored !== undefined) core.store.release(item.stored)
  item.stored = undefined
}

function countInFlushes(core: Core, { seq }: Item, code: FailureCode | 'deferred' | undefined): void {
  for (const flush of core.flushes) {
    if (seq > flush.upTo) continue
    flush.summary[outcomeOf(code)]++
    if (--flush.open === 0) endFlush(core, flush)
  }
}

/** Resolves a flush. It ends no event, and leaves nothing behind. */
export function endFlush(core: Core, flush: Flush): void {
  if (core.flushes.delete(flush)) flush.resolve()
}

/** Notes work until it is over. */
export function follow(all: Set<Promise<unknown>>, work: Promise<unknown> | undefined): void {
  if (work === undefined) return
  all.add(work)
  const forget = (): void => void all.delete(work)
  work.then(forget, forget)
}

/** While the service fails, the message names that failure, and `cause` is that failure. */
export function errorInTrouble({ service }: Core, code: FailureCode, text: string): DeliveryError {
  const { problem } = service
  if (problem === undefined || !isInTrouble(service)) return new DeliveryError(code, text)
  const { error } = problem
  return new DeliveryError(code, `${text}; the service failed with: ${error.message}`, { cause: error })
}

function isInTrouble({ failures, isLimited }: Core['service']): boolean {
  return failures > 0 || isLimited
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
        result = callback?.(error as never, ctx as never)
        if (isThenable(result)) follow(core.callbackWork, Promise.resolve(result))
        return result
      },
      (reason) => core.observer.onUserError('callback', reason, ctx),
    )
  }
  if (asyncContext === undefined) run()
  else asyncContext.runInAsyncScope(run)
  return result === callback
}

const EARLY = new Set<string>(EARLY_CODES)

function errorEvent(reason: DeliveryError, ctx: Context | undefined): ErrorEvent {
  const isOfResponse = reason.code === 'too_large' && reason.status !== undefined
  const code = EARLY.has(reason.code) && !isOfResponse ? reason.code : 'delivery_failure'
  return ctx === undefined ? { code, reason } : { code, reason, ctx }
}
