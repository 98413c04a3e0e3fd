import type { Item } from '../line/item.ts'
import { within } from '../runtime/clock.ts'
import type { Core } from './core.ts'
import { type FlushSummary, pendingOf } from './counts.ts'
import { flush, refuseFlush } from './flush.ts'
import { pump } from './pump.ts'
import { errorInTrouble, settle, settleAll, tellEach } from './settle.ts'
import { endTurn, MAX_PASSES, passTurn, tellLeft } from './turn.ts'

export const CLOSE_TIMEOUT_MS = 75_000
/** A hanging disk must not keep the process alive forever. */
const SPOOL_TIMEOUT_MS = 5_000

/** How long a close waits for promises that callbacks have returned. */
const CALLBACK_PATIENCE_MS = 1_000

const CLOSE_MESSAGE = 'it was still waiting when closeAndFlush() ended'
const EXIT_MESSAGE = 'the process ended before delivery (exitTimeout)'

/**
 * Accepts no more events and flushes. At the timeout, every event that is left gets its outcome before the promise resolves.
 * Further calls return the promise of the first.
 *
 * @see docs/spec.md, sections 6 and 8.2
 */
export function close(core: Core, timeoutMs: number | undefined): Promise<FlushSummary> {
  if (!core.owner.isMine()) return refuseFlush(core)
  core.closing ??= closeOnce(core, timeoutMs)
  return core.closing
}

async function closeOnce(core: Core, timeoutMs: number | undefined): Promise<FlushSummary> {
  const isInHandler = core.pipeline.isInHandler
  const beganMs = core.clock.monotonic()
  core.isClosed = true
  core.owner.isClosed = true
  core.spool?.pause()
  const onTimeout = (): void => abandon(core, CLOSE_MESSAGE)
  const summary = await flush(core, timeoutMs, { isClose: true, onTimeout })
  // A handler of a plugin has called this: the events inside plugins finish first.
  if (isInHandler && pendingOf(core.counts) > 0)
    void flush(core, timeoutMs, { isClose: true, onTimeout }).then(() => shutDown(core))
  else {
    await shutDown(core)
    const leftMs = (timeoutMs ?? Number.POSITIVE_INFINITY) - (core.clock.monotonic() - beganMs)
    if (core.callbackWork.size > 0 && leftMs > 0)
      await holdFor(core, Promise.allSettled(core.callbackWork), Math.min(CALLBACK_PATIENCE_MS, leftMs))
  }
  return summary
}

/** Keeps the process alive until the work is over, or has taken too long. */
async function holdFor({ clock }: Core, work: Promise<unknown>, ms: number): Promise<void> {
  const release = clock.hold()
  await within(work, ms, clock, 'the work').result.catch(() => {})
  release()
}

async function shutDown(core: Core): Promise<void> {
  const { spool, credentials } = core
  abandon(core, CLOSE_MESSAGE)
  if (typeof credentials !== 'string') credentials.close()
  core.closeConnections()
  if (spool !== undefined) await holdFor(core, spool.close(), SPOOL_TIMEOUT_MS)
}

/** Gives every event that is left its outcome, aborts requests, and cancels all timers. */
export function abandon(core: Core, message: string): void {
  const { line, service, inFlight, pipeline, spool, credentials } = core
  const error = errorInTrouble(core, 'shutdown_timeout', message)
  // All events are taken out before the first outcome is told: a callback may flush, or track again.
  const early = core.early
  core.early = []
  const items: Item[] = [...core.inPlugins, ...line.find(Number.POSITIVE_INFINITY, () => true)]
  core.inPlugins.clear()
  const batches = [
    ...service.again.splice(0),
    ...service.held.splice(0),
    ...service.suspects.splice(0),
    ...[...inFlight].map(({ batch }) => batch),
  ]
  for (const batch of batches) {
    items.push(...batch.items)
    batch.items = []
  }
  inFlight.clear()
  for (const item of items) line.leave(item)
  cancelTimers(core)
  core.sender.abort()
  pipeline.abandon()
  tellEach(core, early, (one) => settle(core, one.item, one.error))
  settleAll(core, items, error)
  spool?.abandon()
  if (typeof credentials !== 'string') credentials.abort()
  for (const { resolve } of core.leaving) resolve()
  core.leaving.clear()
}

/**
 * Like {@link abandon}, only for the events up to the call `upTo`: what was tracked later goes on, apart from requests that
 * carry events of both.
 */
export function abandonUpTo(core: Core, upTo: number, message: string): void {
  const { line, service, inFlight, inPlugins } = core
  const isOld = ({ seq }: Item): boolean => seq <= upTo
  const error = errorInTrouble(core, 'shutdown_timeout', message)
  const items: Item[] = [...[...inPlugins].filter(isOld), ...line.find(Number.POSITIVE_INFINITY, isOld)]
  for (const item of items) if (inPlugins.delete(item)) tellLeft(core, item)
  const waiting = [...service.again, ...service.held, ...service.suspects]
  for (const batch of [...waiting, ...[...inFlight].map((request) => request.batch)]) {
    items.push(...batch.items.filter(isOld))
    batch.items = batch.items.filter((item) => !isOld(item))
  }
  for (const name of ['again', 'held', 'suspects'] as const) {
    service[name] = service[name].filter((batch) => batch.items.length > 0)
  }
  for (const request of inFlight) {
    if (request.batch.items.length > 0) continue
    // A request without events tells nothing any more.
    inFlight.delete(request)
    if (request.generation === service.generation) service.isProbeOut = false
  }
  for (const item of items) line.leave(item)
  settleAll(core, items, error)
  pump(core)
}

function cancelTimers(core: Core): void {
  core.cancelInterval?.()
  core.cancelInterval = undefined
  core.wakeUp?.cancel()
  core.wakeUp = undefined
  core.service.isProbeOut = false
}

/** The process has run out of work. Returns whether it is kept alive for the events that wait. */
export function onExit(core: Core): boolean {
  if (core.isExiting) return true
  core.spool?.pause()
  const timeoutMs = exitLimitMs(core)
  if (timeoutMs < 1) {
    abandon(core, EXIT_MESSAGE)
    return false
  }
  core.isExiting = true
  const onTimeout = (): void => abandon(core, EXIT_MESSAGE)
  void flush(core, timeoutMs, { isPatient: true, onTimeout }).then(
    ({ delivered, failed, pending, deferred = 0 }) => {
      core.isExiting = false
      core.exitLosses = delivered === 0 && failed + pending + deferred > 0 ? core.exitLosses + 1 : 0
    },
  )
  return true
}

/** The process ends: what can be written is written, and the rest gets its outcome, also what callbacks track meanwhile. */
export function onEnd(core: Core): void {
  if (core.isEnding) return
  core.isEnding = true
  // First what would be lost if a listener ended the process again: Node.js then runs nothing more.
  passTurn(core, core.line.lastOrder)
  void core.spool?.secure()
  for (const finish of [...core.telling]) finish()
  let left = MAX_PASSES
  do {
    core.passes = 0
    endTurn(core)
    abandon(core, EXIT_MESSAGE)
  } while (core.isPassScheduled && --left > 0)
  core.isEnding = false
}

/**
 * After a wait in which no event was delivered, all further waits together take less than a second: code that tracks an event
 * for each lost event must not keep the process alive forever. The further waits are not 0, so that a script that goes on after
 * an outage does not lose its later events.
 */
function exitLimitMs({ settings, exitLosses }: Core): number {
  const { exitTimeout } = settings
  return exitLosses === 0 ? exitTimeout : Math.min(exitTimeout, 1_000) / 2 ** exitLosses
}

/** In milliseconds; `undefined` means no limit. What is not a number is reported, and the default applies. */
export function limitOf(core: Core, timeout: unknown, missing: number | undefined): number | undefined {
  if (timeout === undefined) return missing
  if (typeof timeout !== 'number' || Number.isNaN(timeout)) {
    core.warnings.reportMisuse(
      'flush',
      `timeout: expected milliseconds, got a value of type ${typeof timeout}; the default applies`,
    )
    return missing
  }
  // Not for -0, which is what is left of a time that was rounded.
  return Object.is(timeout, 0) ? undefined : Math.max(timeout, 0)
}
