import { within } from '../runtime/clock.ts'
import { tellStderr } from '../runtime/warn.ts'
import { abandon } from './abandon.ts'
import type { Core } from './core.ts'
import type { FlushSummary } from './counts.ts'
import { flush, over } from './flush.ts'
import { passTurn } from './turn.ts'

export const CLOSE_TIMEOUT_MS = 25_000
/** Cloudflare Workers end what was handed over 30 s after the response. */
const HAND_OVER_MS = 25_000
/** A hanging disk must not keep the process alive forever. */
const JOURNAL_MS = 5_000
/** How long a close waits for promises that callbacks have returned. */
const CALLBACK_MS = 1_000
const EVERYTHING = Number.POSITIVE_INFINITY

/**
 * Accepts no more events, and goes on trying until its timeout. Then every event that is left gets its outcome before the
 * promise resolves. Further calls return the promise of the first.
 *
 * @see docs/spec.md, section 6
 */
export function close(core: Core, timeoutMs: number): Promise<FlushSummary> {
  const { owner, pipeline, counts } = core
  if (!owner.isMine()) return flush(core, timeoutMs)
  const isInHandler = pipeline.isInHandler
  core.isClosed = true
  owner.isClosed = true
  // A handler must not wait for its own event, so what it has called closes after it.
  core.closing ??= isInHandler
    ? Promise.resolve().then(() => closeOnce(core, timeoutMs))
    : closeOnce(core, timeoutMs)
  return isInHandler ? Promise.resolve({ delivered: 0, failed: 0, pending: counts.pending }) : core.closing
}

async function closeOnce(core: Core, timeoutMs: number): Promise<FlushSummary> {
  const { clock, credentials, journal, transport, pipeline } = core
  const endMs = clock.monotonic() + timeoutMs
  const summary = await flush(core, timeoutMs, 'close')
  abandon(core, EVERYTHING, 'the client was closed')
  core.timer?.cancel()
  core.timer = undefined
  if (typeof credentials !== 'string') credentials.close()
  transport.abort()
  pipeline.close()
  core.closeConnections()
  const letGo = clock.hold()
  if (journal !== undefined)
    await within(journal.close(), JOURNAL_MS, clock, 'the spool').result.catch(() => {})
  await over(core, core.callbackWork, Math.min(endMs, clock.monotonic() + CALLBACK_MS))
  letGo()
  return summary
}

/** With `waitUntil`: what is tracked in one turn is flushed together, and the promise is handed to the platform. */
export function handOverTurn(core: Core, waitUntil: (promise: Promise<unknown>) => void): void {
  if (core.isTurnHandedOver) return
  core.isTurnHandedOver = true
  const flushed = Promise.resolve().then(() => {
    core.isTurnHandedOver = false
    return flush(core, core.isHandedOver ? HAND_OVER_MS : EVERYTHING, 'handover')
  })
  core.observer.guard('wait_until', () => waitUntil(flushed))
}

/** The process has run out of work: it is kept alive for what waits, once until everything has its outcome. */
export function onIdle(core: Core): void {
  const { settings } = core
  if (core.wasKept || settings.exitTimeout === 0 || core.flushes.size > 0) return
  core.wasKept = true
  void flush(core, settings.exitTimeout, 'exit')
}

/**
 * The process ends: the pass runs, what the journal has is deferred, and the rest is lost. Outcomes are only counted, and one
 * line on stderr says how many events are lost.
 */
export function onExit(core: Core): void {
  const { counts, journal } = core
  const { failed } = counts
  core.isEnding = true
  core.isClosed = true
  passTurn(core)
  abandon(core, EVERYTHING, 'the process ended before delivery')
  journal?.closeAtExit()
  const lost = counts.failed - failed
  if (lost > 0)
    tellStderr(`${lost} ${lost === 1 ? 'event was' : 'events were'} lost, because the process ended`)
}
