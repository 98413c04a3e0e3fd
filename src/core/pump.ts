import { describeCause } from '../errors/cause.ts'
import { timeoutError } from '../http/exchange.ts'
import type { Verdict } from '../http/verdict.ts'
import { abandon } from './abandon.ts'
import { blame, conclude, errorOf } from './conclude.ts'
import type { Batch, Core, Flush, Request } from './core.ts'
import { isInDoubt, isMisset, opensAtMs } from './service.ts'
import { endFlush, errorInTrouble, settle } from './settle.ts'
import { everyItem, givenUp, isSomebodyWaiting } from './waiting.ts'

/** While requests fail, it is looked so often whether somebody has waited for long enough. */
const LOOK_MS = 1_000
/** The same where nobody waits, for events that become too old. */
const IDLE_LOOK_MS = 60_000
/** If the timer is late by more than this, the process was stalled. */
const STALL_MS = 1_000
/** A close asks once more so long before its end, whatever the backoff: time enough to deliver what waits. */
const LAST_MS = 2_000

/** Sends everything that may be sent now. Whatever may have changed something just calls it again. */
export function pump(core: Core, nowMs: number): void {
  if (core.held.length > 0 && !isInDoubt(core.service))
    for (const batch of core.held.splice(0)) blame(core, batch)
  if (nowMs >= core.intervalMs) makeDue(core, nowMs)
  for (;;) {
    const batch = next(core, nowMs)
    if (batch === undefined) break
    send(core, batch, nowMs)
  }
  for (const flush of core.flushes) if (isHopeless(core, flush)) expire(core, flush)
  arm(core, nowMs)
}

/** A close need not wait for a service that has stated a wait beyond its end. */
function isHopeless(core: Core, { kind, endMs }: Flush): boolean {
  const { service, inFlight, inPlugins } = core
  const { gate } = service
  if (kind !== 'close' || inFlight.size + inPlugins.size > 0 || gate.statedMs === undefined) return false
  return isInDoubt(service) && opensAtMs(gate, true) > endMs
}

/** What waits in the line goes out without waiting for more. */
export function makeDue(core: Core, nowMs: number): void {
  core.line.makeDue(nowMs)
  core.intervalMs = Number.POSITIVE_INFINITY
}

/** The next batch, or `undefined` when none may be sent now. */
function next(core: Core, nowMs: number): Batch | undefined {
  const { service, settings, inFlight, line, parts } = core
  const most = settings.maxConcurrentRequests
  const isDoubtful = isInDoubt(service)
  const isDue = line.isDue
  if (inFlight.size >= most || !(isDue || isDoubtful || parts.length > 0)) return undefined
  // A body that does not end keeps its connection busy.
  if (core.transport.isFull(most)) return undefined
  if (isDoubtful) {
    const isAsked = some(inFlight, ({ isProbe, epoch }) => isProbe && epoch === service.epoch)
    if (isAsked || nowMs < gateOpensAtMs(core)) return undefined
    // After a 429, or where the settings are wrong, there is nothing to find out: one whole request goes first.
    if (service.failures > 0 && !isMisset(service)) return oneEvent(core)
  }
  const part = parts.length > 0 ? nextPart(core, nowMs) : undefined
  if (part !== undefined) return part
  core.wasPart = false
  return isDue ? batchOf(line.take(service.limit, service.mostBytes + 1)) : undefined
}

/** A stated wait is obeyed; the backoff of a close, or of the end of the process, ends before it is too late. */
function gateOpensAtMs(core: Core): number {
  const { service, flushes } = core
  const { gate } = service
  let atMs = opensAtMs(gate, isSomebodyWaiting(core))
  if (gate.statedMs !== undefined) return atMs
  for (const { kind, endMs } of flushes) {
    const lastMs = endMs - LAST_MS
    if (kind !== 'flush' && gate.shutMs < lastMs && lastMs < atMs) atMs = lastMs
  }
  return atMs
}

/**
 * Parts take at most half of the requests; with one request at a time, every second. While their gate was shut and nothing was
 * accepted since, they go one event at a time: each of them may hold a bad event.
 */
function nextPart(core: Core, nowMs: number): Batch | undefined {
  const { settings, inFlight, line, partsGate, service } = core
  const most = Math.max(1, settings.maxConcurrentRequests >> 1)
  let inFlightParts = 0
  for (const { batch } of inFlight) if (batch.isPart) inFlightParts++
  const isTurnOfLine = line.isDue && core.wasPart
  if (inFlightParts >= most || isTurnOfLine) return undefined
  if (nowMs < opensAtMs(partsGate, isSomebodyWaiting(core))) return undefined
  const index = core.parts.findIndex(({ notBeforeMs }) => notBeforeMs <= nowMs)
  if (index < 0) return undefined
  core.wasPart = true
  const [part] = core.parts.splice(index, 1) as [Batch]
  const fitting = partsGate.waits > 0 ? 1 : fittingOf(part, service.mostBytes)
  if (fitting === part.items.length) return part
  core.parts.unshift({ ...part, items: part.items.slice(fitting) })
  return { ...part, items: part.items.slice(0, fitting) }
}

/** How many events of a part fit into a request: a service may have refused its size since. */
function fittingOf({ items }: Batch, mostBytes: number): number {
  let bytes = -1
  const end = items.findIndex((item) => {
    bytes += item.bytes + 1
    return bytes > mostBytes
  })
  return end < 0 ? items.length : Math.max(1, end)
}

/** One other event, to ask whether the service or the events fail. */
function oneEvent({ line, held, parts }: Core): Batch | undefined {
  const item = line.takeFreshest()
  if (item !== undefined) return batchOf([item])
  const several = [...held, ...parts].find(({ items }) => items.length > 1)
  if (several === undefined) return parts.shift() ?? held.shift()
  const last = several.items.splice(-1)
  return { ...several, items: last }
}

function batchOf(items: Batch['items']): Batch {
  return { items, isPart: false, successesBefore: undefined, notBeforeMs: 0, wasLost: false }
}

function send(core: Core, batch: Batch, nowMs: number): void {
  const { service, settings, inFlight, transport } = core
  const request: Request = {
    batch,
    isProbe: isInDoubt(service),
    epoch: service.epoch,
    successesBefore: service.successes,
    sentMs: nowMs,
    endMs: nowMs + settings.httpRequestTimeout,
    abort: () => {},
  }
  for (const item of batch.items) if (item.dueMs > nowMs) item.dueMs = nowMs
  inFlight.add(request)
  core.asyncContext.runInAsyncScope(() => {
    request.abort = transport.send(batch.items, nowMs, (verdict) => end(core, request, verdict))
  })
}

/** Does nothing for a request that was abandoned. */
function end(core: Core, request: Request, verdict: Verdict): void {
  const { inFlight, service, clock } = core
  const { batch } = request
  if (!inFlight.delete(request)) return
  const nowMs = clock.monotonic()
  try {
    if (verdict.isConnectionLost && !batch.wasLost && !isInDoubt(service)) {
      // A connection that was kept alive, and that the server had just closed: once more, uncounted.
      batch.wasLost = true
      send(core, batch, nowMs)
    } else {
      conclude(core, request, verdict, nowMs)
      if (isFailing(core)) giveUp(core, nowMs)
    }
    if (core.journal !== undefined) core.recover()
  } catch (error) {
    putBackLost(core, batch, error)
  }
  try {
    // A callback may have taken its time.
    pump(core, clock.monotonic())
  } catch (error) {
    putBackLost(core, batch, error)
  }
}

/** A defect of this library must neither end the program nor lose an event: those that are nowhere go back into the line. */
function putBackLost(core: Core, { items }: Batch, error: unknown): void {
  const known = new Set(everyItem(core))
  core.line.putBack(items.filter((item) => item.stored !== undefined && !known.has(item)))
  const why = describeCause(error)
  core.observer.tellOnce('delivery_fault', `the delivery was interrupted and goes on: ${why}`)
}

/** Whether requests fail, or are limited. */
function isFailing({ service, partsGate }: Core): boolean {
  return isInDoubt(service) || partsGate.waits > 0
}

function giveUp(core: Core, nowMs: number): void {
  const { tried, tooOld, flushes } = givenUp(core, nowMs)
  if (tried.length > 0) settle(core, tried, errorOf(core))
  if (tooOld.length > 0) settle(core, tooOld, errorInTrouble(core, 'deadline', TOO_OLD))
  for (const flush of flushes) endFlush(core, flush)
}

const TOO_OLD = 'it has waited for maxTotalBackoffDuration, or in a rate limit for maxRateLimitDuration'

/** Sets the one timer: a request takes too long, a gate opens, a part may go, the interval is over, somebody has waited. */
function arm(core: Core, nowMs: number): void {
  const atMs = nextMs(core, nowMs)
  if (core.timer !== undefined) {
    // A timer that comes early does no harm, and setting one for each request would cost time.
    if (core.timer.atMs <= atMs && atMs < Number.POSITIVE_INFINITY) return
    core.timer.cancel()
    core.timer = undefined
  }
  if (atMs === Number.POSITIVE_INFINITY) return
  const cancel = core.clock.setTimer(() => wake(core), Math.max(0, Math.ceil(atMs - nowMs)))
  core.timer = { atMs, cancel }
}

function nextMs(core: Core, nowMs: number): number {
  const { inFlight, flushes, service, partsGate, parts, settings, counts } = core
  let atMs = Number.POSITIVE_INFINITY
  for (const { endMs } of flushes) if (endMs < atMs) atMs = endMs
  if (counts.pending === 0) return atMs
  for (const { endMs } of inFlight) if (endMs < atMs) atMs = endMs
  if (core.intervalMs < atMs) atMs = core.intervalMs
  const isInTrouble = isFailing(core)
  if (!isInTrouble && parts.length === 0) return atMs
  const isWaiting = isSomebodyWaiting(core)
  if (isInTrouble) {
    const leastMs = 1_000 * Math.min(settings.maxTotalBackoffDuration, settings.maxRateLimitDuration)
    atMs = Math.min(atMs, nowMs + (isWaiting ? LOOK_MS : Math.min(IDLE_LOOK_MS, leastMs)))
  }
  const openings = isInDoubt(service)
    ? [gateOpensAtMs(core)]
    : parts.map(({ notBeforeMs }) => Math.max(notBeforeMs, opensAtMs(partsGate, isWaiting)))
  // What is open, `next` has seen.
  for (const openMs of openings) if (openMs > nowMs && openMs < atMs) atMs = openMs
  return atMs
}

function wake(core: Core): void {
  const nowMs = core.clock.monotonic()
  const lateMs = nowMs - (core.timer?.atMs ?? nowMs)
  core.timer = undefined
  // After a stall, answers may have arrived that runtimes read after they have run timers.
  const overdue = [...core.inFlight, ...core.flushes].filter(({ endMs }) => endMs <= nowMs)
  if (lateMs > STALL_MS) for (const one of overdue) one.endMs = nowMs + STALL_MS
  else {
    for (const one of overdue) {
      if ('abort' in one) one.abort(timeoutError(core.settings.httpRequestTimeout))
      else expire(core, one)
    }
  }
  if (isFailing(core)) giveUp(core, nowMs)
  pump(core, core.clock.monotonic())
}

/** A flush at its end resolves; a close, and what is handed to the platform, gives what is left its outcome before. */
function expire(core: Core, flush: Flush): void {
  const { kind, upTo } = flush
  if (kind === 'close' || kind === 'handover') abandon(core, upTo, ABANDONED[kind])
  endFlush(core, flush)
}

const ABANDONED = {
  close: 'it was still waiting when closeAndFlush() ended',
  handover: 'it was still waiting 25 s after it was handed to waitUntil',
}

function some<One>(all: Iterable<One>, isMeant: (one: One) => boolean): boolean {
  for (const one of all) if (isMeant(one)) return true
  return false
}
