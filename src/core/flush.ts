import { within } from '../runtime/clock.ts'
import type { Core, Flush, Work } from './core.ts'
import { type FlushSummary, summaryOf } from './counts.ts'
import { ELSEWHERE } from './owner.ts'

import { handled, keepAgain, schedulePass } from './turn.ts'
import { everyItem } from './waiting.ts'

const NEVER = Number.POSITIVE_INFINITY

/**
 * Sends what waits as soon as the turn is over, and waits for the outcome of everything accepted so far. In a handler of a
 * plugin it only sends, because the event of the handler could not get its outcome meanwhile.
 *
 * @param timeoutMs `Infinity`: no limit.
 * @see docs/spec.md, sections 6 and 8
 */
export async function flush(
  core: Core,
  timeoutMs: number,
  kind: Flush['kind'] = 'flush',
): Promise<FlushSummary> {
  const { counts, clock, pipeline, owner, observer } = core
  const open = counts.pending
  const upTo = counts.accepted
  const summary = { delivered: 0, failed: 0, deferred: 0 }
  if (!owner.isMine()) {
    // Its promises and timers must not be used in another request.
    observer.onMisuse('flush', ELSEWHERE)
    return summaryOf(summary, open)
  }
  const isInHandler = pipeline.isInHandler
  const endMs = clock.monotonic() + timeoutMs
  core.isFlushRequested = true
  schedulePass(core)
  if (isInHandler) return summaryOf(summary, open)
  const letGo = clock.hold()
  if (open > 0) {
    await new Promise<void>((resolve) => {
      core.flushes.add({ upTo, open, summary, beganMs: NEVER, endMs, kind, resolve })
    })
  }
  await over(core, core.pluginWork, endMs, upTo)
  letGo()
  return summaryOf(summary, open)
}

/** Waits for work of the user on the calls up to this number, until its end or this time. */
export async function over({ clock }: Core, all: Work, endMs: number, upTo = NEVER): Promise<void> {
  const leftMs = endMs - clock.monotonic()
  const work = [...all].filter(([, seq]) => seq <= upTo).map(([one]) => one)
  if (work.length === 0 || leftMs <= 0) return
  const whole = Promise.allSettled(work)
  await (leftMs === NEVER ? whole : within(whole, leftMs, clock, 'the work').result.catch(() => {}))
}

/** Waits until the events accepted so far have left their plugins, and the journal has them on disk. */
export async function stored(core: Core): Promise<boolean> {
  const { journal } = core
  if (journal === undefined) return false
  const upTo = core.counts.accepted
  await handled(core)
  const open = everyItem(core).filter(({ seq }) => seq <= upTo)
  keepAgain(core, open)
  const isSynced = await journal.sync()
  // What has its outcome meanwhile need not be kept.
  return isSynced && open.every(({ stored, record }) => stored === undefined || record?.isKept === true)
}

/** In milliseconds. 0 means no limit, and so does what is not a number, with a warning, or the default where there is one. */
export function limitOf({ observer }: Core, timeout: unknown, missing = NEVER): number {
  if (timeout === undefined) return missing
  if (typeof timeout !== 'number' || Number.isNaN(timeout)) {
    const got = typeof timeout === 'number' ? 'NaN' : `a value of type ${typeof timeout}`
    observer.onMisuse('flush', `timeout: expected milliseconds, got ${got}; the default applies`)
    return missing
  }
  // Not for -0, which is what is left of a time that was rounded.
  return Object.is(timeout, 0) ? NEVER : Math.max(timeout, 0)
}
