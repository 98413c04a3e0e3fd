import type { Core, Flush } from './core.ts'
import type { Item } from './item.ts'

/** Who waits is told after so long with nothing accepted. */
const PATIENCE_MS = 10_000
const LONG_AGO = Number.NEGATIVE_INFINITY

/** Whether somebody waits for an outcome now, so that the backoff is short. */
export function isSomebodyWaiting({ counts, flushes, settings }: Core): boolean {
  return counts.awaited > 0 || flushes.size > 0 || settings.isMaxRetriesGiven
}

/** The number of retries that counts now, and whether it was set. For requests for tokens, it is that of `oauthSettings`. */
export function retriesOf({ settings, service }: Core): { retries: number; isGiven: boolean } {
  const { maxRetries, isMaxRetriesGiven, oauthSettings } = settings
  const ofTokens = oauthSettings?.maxRetries
  if (ofTokens === undefined || service.problem?.isOfToken !== true)
    return { retries: maxRetries, isGiven: isMaxRetriesGiven }
  return { retries: ofTokens, isGiven: true }
}

/** Who waits since then, or for longer, has waited for long enough. One failure alone proves nothing: it may have hung as long. */
function patienceEndsMs({ service }: Core, nowMs: number): number {
  const isProven = service.failures !== 1 || service.isLimited
  const sinceMs = nowMs - PATIENCE_MS
  return isProven && service.lastSuccessMs <= sinceMs ? sinceMs : LONG_AGO
}

/**
 * Awaited events that were due by then have been tried for long enough; where `maxRetries` was set, all events. While a close is
 * open, its timeout is the limit.
 */
function triedUntilMs(core: Core, nowMs: number): number {
  const { service, isClosed } = core
  const { retries, isGiven } = retriesOf(core)
  const byNumberMs =
    isClosed && !isGiven
      ? LONG_AGO
      : (service.failedAtMs[service.failedAtMs.length - 1 - retries] ?? LONG_AGO)
  const byPatienceMs = isClosed || (isGiven && !service.isLimited) ? LONG_AGO : patienceEndsMs(core, nowMs)
  return Math.max(byNumberMs, byPatienceMs)
}

/** All events that were due by then have waited for too long. */
function tooOldUntilMs({ settings, service }: Core, nowMs: number): number {
  const durationS = service.isLimited ? settings.maxRateLimitDuration : settings.maxTotalBackoffDuration
  const untilMs = nowMs - durationS * 1_000
  return service.lastSuccessMs <= untilMs ? untilMs : LONG_AGO
}

/** A flush is in vain when who waits would be told; it ends nothing. */
function isInVain(core: Core, { kind, beganMs }: Flush, nowMs: number): boolean {
  if (kind !== 'flush') return false
  const { failures, failedAtMs } = core.service
  const isByNumber =
    failures > retriesOf(core).retries && (failedAtMs[failedAtMs.length - 1] ?? LONG_AGO) >= beganMs
  return isByNumber || beganMs <= patienceEndsMs(core, nowMs)
}

/** What is given up now: the one place that decides it. What is in flight keeps its chance. */
export function givenUp(core: Core, nowMs: number): { tried: Item[]; tooOld: Item[]; flushes: Flush[] } {
  const { isGiven } = retriesOf(core)
  const triedMs = triedUntilMs(core, nowMs)
  const oldMs = tooOldUntilMs(core, nowMs)
  const isTried = ({ isAwaited, dueMs }: Item): boolean => dueMs <= triedMs && (isAwaited || isGiven)
  const isTooOld = ({ dueMs }: Item): boolean => dueMs <= oldMs
  const flushes = [...core.flushes].filter((flush) => isInVain(core, flush, nowMs))
  return { tried: extract(core, isTried), tooOld: extract(core, isTooOld), flushes }
}

/** All events that have left their plugins and have no outcome. */
export function everyItem({ line, parts, held, inFlight }: Core): Item[] {
  const batches = [...parts, ...held, ...[...inFlight].map(({ batch }) => batch)]
  return [...line.all(), ...batches.flatMap(({ items }) => items)]
}

/** Takes the events for which `isMeant` returns `true` out of where they wait. */
export function extract(core: Core, isMeant: (item: Item) => boolean): Item[] {
  const taken = core.line.extract(isMeant)
  const reduce = (batch: { items: Item[] }): boolean => {
    taken.push(...batch.items.filter(isMeant))
    batch.items = batch.items.filter((item) => !isMeant(item))
    return batch.items.length > 0
  }
  core.parts = core.parts.filter(reduce)
  core.held = core.held.filter(reduce)
  return taken
}
