import { DeliveryError, EARLY_CODES, type FailureCode } from '../errors/errors.ts'
import { isThenable } from '../errors/guard.ts'
import { emit } from '../events/emitter.ts'
import type { ErrorEvent } from '../events/events.ts'
import { Context } from '../pipeline/context.ts'
import { unwatchExit } from '../runtime/exit.node.ts'
import type { Core, Flush, Work } from './core.ts'
import type { Item } from './item.ts'
import { isInDoubt } from './service.ts'

/**
 * The only function that gives events their outcome: delivered if `error` is `undefined`, otherwise failed. They have left
 * their list. All are counted, and their room is freed, before anybody is told: a callback may track again, or end the process.
 *
 * @see docs/spec.md, section 6
 */
export function settle(core: Core, items: readonly Item[], error: DeliveryError | undefined): void {
  if (items.length === 0) return
  for (const item of items) count(core, item, error)
  const isDrained = core.counts.pending === 0
  for (const item of items) {
    // At the end of the process nobody could do anything but exit again.
    if (core.isEnding) return
    tell(core, item, error)
  }
  if (!isDrained || core.counts.pending > 0) return
  core.wasKept = false
  unwatchExit(core.exiting)
  if (core.listeners.has('drained')) emit(core.client, 'drained')
}

function count(core: Core, item: Item, error: DeliveryError | undefined): void {
  const { counts, journal, observer, pipeline } = core
  const { callback, passage } = item
  const isFollowed = passage !== undefined && pipeline.isFollowed(passage)
  const isNeeded = callback !== undefined || isFollowed || isHeard(core, item.kind, error)
  item.ctx = isNeeded && !core.isEnding ? contextOf(core, item) : undefined
  if (item.record !== undefined && error?.code !== 'deferred') journal?.settled(item.record)
  release(core, item)
  if (item.isAwaited) counts.awaited--
  counts.pending--
  const outcome = error === undefined ? 'delivered' : error.code === 'deferred' ? 'deferred' : 'failed'
  counts[outcome]++
  if (outcome === 'failed') counts.failures[error?.code as FailureCode]++
  for (const flush of core.flushes) {
    if (item.seq > flush.upTo) continue
    flush.summary[outcome]++
    if (--flush.open === 0) endFlush(core, flush)
  }
  if (error !== undefined) observer.onLoss(error)
}

function isHeard({ listeners }: Core, kind: Item['kind'], error: DeliveryError | undefined): boolean {
  return error?.code !== 'deferred' && listeners.has(error === undefined ? kind : 'error')
}

function tell(core: Core, item: Item, error: DeliveryError | undefined): void {
  const { client, observer, pipeline } = core
  const { kind, callback, passage, ctx } = item
  ctx?.conclude(error, item.attempts)
  const isUntold = callback === undefined || call(core, item, error, ctx)
  if (isHeard(core, kind, error)) {
    if (error !== undefined) emit(client, 'error', errorEvent(error, ctx))
    // A listener that came with the outcome of an earlier event of the batch.
    else if (ctx !== undefined) emit(client, kind, ctx)
  } else if (error !== undefined && isUntold && error.code !== 'deferred') observer.onUnheardLoss(error)
  if (passage !== undefined && pipeline.isFollowed(passage))
    follow(core.pluginWork, pipeline.conclude(passage, ctx as Context), item)
}

/** The context of an event: the one that plugins have had, or one of its message. `undefined` if the call was too malformed. */
export function contextOf(core: Core, { ctx, stored }: Item): Context | undefined {
  if (ctx !== undefined || stored === undefined) return ctx
  return new Context(undefined, core.store.read(stored))
}

/** Frees the room of a message. */
export function release(core: Core, item: Item): void {
  core.counts.bytes -= item.bytes
  item.bytes = 0
  if (item.stored !== undefined) core.store.release(item.stored)
  item.stored = undefined
}

/** Resolves a flush. It ends no event, and leaves nothing behind. */
export function endFlush(core: Core, flush: Flush): void {
  if (core.flushes.delete(flush)) flush.resolve()
}

/** Notes work until it is over. */
export function follow(all: Work, work: Promise<unknown> | undefined, { seq }: Item): void {
  if (work === undefined) return
  all.set(work, seq)
  const forget = (): void => void all.delete(work)
  work.then(forget, forget)
}

/** While the service fails, the message names that failure, and `cause` is that failure. */
export function errorInTrouble({ service }: Core, code: FailureCode, text: string): DeliveryError {
  const { problem } = service
  if (problem === undefined || !isInDoubt(service)) return new DeliveryError(code, text)
  const { error } = problem
  return new DeliveryError(code, `${text}; the service failed with: ${error.message}`, { cause: error })
}

/** @returns Whether the callback has returned itself: in this way, `trackpost/compat` says that it has told nobody. */
function call(
  core: Core,
  item: Item,
  error: DeliveryError | undefined,
  ctx = Context.unreadable(item.kind),
): boolean {
  const { callback, asyncContext } = item
  const report = (reason: unknown): void => core.observer.onUserError('callback', reason, ctx)
  try {
    const run = (): unknown => callback?.(error as DeliveryError, ctx)
    const result = asyncContext === undefined ? run() : asyncContext.runInAsyncScope(run)
    if (isThenable(result)) {
      const work = Promise.resolve(result)
      work.catch(report)
      follow(core.callbackWork, work, item)
    }
    return result === callback
  } catch (reason) {
    report(reason)
    return false
  }
}

const EARLY = new Set<string>(EARLY_CODES)

function errorEvent(reason: DeliveryError, ctx: Context | undefined): ErrorEvent {
  const isOfResponse = reason.code === 'too_large' && reason.status !== undefined
  const code = EARLY.has(reason.code) && !isOfResponse ? reason.code : 'delivery_failure'
  return ctx === undefined ? { code, reason } : { code, reason, ctx }
}
