import type { Core, Flush } from './core.ts'
import { type FlushSummary, pendingOf } from './counts.ts'
import { ELSEWHERE } from './owner.ts'
import { knownFailures } from './share.ts'
import { schedulePass } from './turn.ts'

/** The most failures in a row after which a flush resolves. @see docs/spec.md, section 8.1 */
const MAX_FLUSH_FAILURES = 4

/**
 * Sends what waits as soon as the turn is over, and waits for the outcome of everything accepted so far. Ends no event, and
 * leaves nothing behind when it has resolved.
 *
 * @param timeoutMs `undefined`: no limit.
 * @param isPatient Whether failures of the service do not end the wait.
 * @param onTimeout Called at the timeout, before the flush resolves.
 * @see docs/spec.md, sections 6, 8.1 and 8.2
 */
export function flush(
  core: Core,
  timeoutMs: number | undefined,
  { isClose = false, isPatient = false, onTimeout = (): void => {} } = {},
): Promise<FlushSummary> {
  if (!core.owner.isMine()) return refuseFlush(core)
  const { counts, line, clock, pipeline } = core
  const isInHandler = pipeline.isInHandler
  const events = pendingOf(counts)
  const attempts = core.settings.maxRetries + 1
  // In a handler: what has passed the plugins, and is not inside plugins again.
  const open = isInHandler ? line.size - line.turnLength - core.inPlugins.size : counts.open
  core.isFlushRequested = true
  schedulePass(core)
  if (open <= 0) return Promise.resolve({ delivered: 0, failed: 0, pending: events })
  return new Promise((resolve) => {
    const release = clock.hold()
    let cancelTimer = (): void => {}
    const record: Flush = {
      upTo: counts.accepted,
      upToOrder: isInHandler ? line.passedOrder : Number.POSITIVE_INFINITY,
      open,
      countsWork: !isInHandler,
      events,
      delivered: 0,
      failed: 0,
      deferred: 0,
      sinceFailures: knownFailures(core),
      attempts: isPatient
        ? Number.POSITIVE_INFINITY
        : isClose
          ? attempts
          : Math.min(attempts, MAX_FLUSH_FAILURES),
      beganMs: Number.POSITIVE_INFINITY,
      isClose,
      isPatient,
      deadlineMs: clock.monotonic() + (timeoutMs ?? Number.POSITIVE_INFINITY),
      end() {
        const index = core.flushes.indexOf(record)
        if (index < 0) return
        core.flushes.splice(index, 1)
        cancelTimer()
        release()
        const { delivered, failed, deferred } = record
        const pending = events - delivered - failed - deferred
        resolve({ delivered, failed, pending, ...(deferred > 0 && { deferred }) })
      },
      expire() {
        onTimeout()
        record.end()
      },
    }
    core.flushes.push(record)
    if (timeoutMs === undefined) return
    cancelTimer = clock.setTimer(record.expire, timeoutMs)
  })
}

/** The client belongs to another request: its promises and timers must not be used here. */
export function refuseFlush({ warnings, counts }: Core): Promise<FlushSummary> {
  warnings.reportMisuse('flush', ELSEWHERE)
  return Promise.resolve({ delivered: 0, failed: 0, pending: pendingOf(counts) })
}

/** Waits until the events accepted so far have left their plugins, and the spool has stored them. */
export async function stored(core: Core): Promise<boolean> {
  const { spool } = core
  if (spool === undefined) return false
  await handled(core)
  return spool.secure()
}

/**
 * Waits for the end of the turn, and until the events accepted so far have left their plugins. In a handler, it does not wait
 * for what is inside plugins.
 */
export async function handled(core: Core): Promise<void> {
  const { inPlugins, pipeline } = core
  const { isInHandler } = pipeline
  await new Promise<void>((resolve) => {
    core.afterPass.push(resolve)
    schedulePass(core)
  })
  if (inPlugins.size === 0 || isInHandler) return
  await new Promise<void>((resolve) => core.leaving.add({ items: new Set(inPlugins), resolve }))
}
