import type { DeliveryError } from '../errors/errors.ts'
import type { Verdict } from '../http/verdict.ts'
import { drawOf, spreadMs } from '../http/waits.ts'
import type { Batch, Core, Request } from './core.ts'
import type { Item } from './item.ts'
import { createGate, type Gate, isInDoubt, isOfSettings, opensAtMs } from './service.ts'
import { settle } from './settle.ts'
import { isSomebodyWaiting, retriesOf } from './waiting.ts'

/** So many events refused alone, in a row, with nothing accepted in between: it is not the events. */
const ALL_REFUSED = 8

/**
 * What an answer does. What is counted, and what it decides:
 *
 * - `failures` of the service, in a row: whether it is in doubt, and when who waits is told
 * - `successes` of the service: whether others got through, so that it is these events
 * - `refusals` of the service, in a row: whether it refuses everything
 * - `failures` of an event: those that have failed least are asked first
 * - `strikes` of an event: when it ends alone, while others get through
 * - `attempts` of an event: only what is told
 *
 * @see docs/spec.md, section 8
 */
export function conclude(core: Core, request: Request, verdict: Verdict, nowMs: number): void {
  const { service } = core
  const { items } = request.batch
  const isAlone = items.length === 1
  if (verdict.word === 'refused' && isAlone) service.refusals++
  const isAllRefused = verdict.word === 'refused' && service.refusals >= ALL_REFUSED
  switch (isAllRefused ? 'settings' : verdict.word) {
    case 'delivered':
      accepted(core, request, nowMs)
      return settle(core, items, undefined)
    case 'refused':
      answered(core, request)
      return isAlone ? settle(core, items, verdict.error) : halve(core, items)
    case 'large':
      answered(core, request)
      return isAlone ? settle(core, items, verdict.error) : shrink(core, items)
    case 'never':
      answered(core, request)
      return settle(core, items, verdict.error)
    case 'limited':
      return limited(core, request, verdict)
    case 'settings':
      return service.successes === 0 ? misset(core, request, verdict) : failed(core, request, verdict)
    case 'failed':
      return failed(core, request, verdict)
  }
}

function accepted(core: Core, request: Request, nowMs: number): void {
  const { service, settings } = core
  answered(core, request)
  service.successes++
  service.lastSuccessMs = nowMs
  service.refusals = 0
  service.limit = Math.min(settings.maxRequestEvents, service.limit * 2)
  if (core.partsGate.waits > 0) Object.assign(core.partsGate, createGate())
}

/** The service answers. What is held has failed by itself: `pump` sees to it, in all clients that share the service. */
function answered(core: Core, { epoch }: Request): void {
  const { service, clock } = core
  // What was sent before a stated wait does not cut it short.
  const isBefore = epoch !== service.epoch && service.gate.statedMs !== undefined
  if (!isInDoubt(service) || isBefore) return
  service.failures = 0
  service.failedAtMs = []
  service.isLimited = false
  Object.assign(service.gate, createGate())
  if (service.downSinceMs === undefined) return
  const downMs = clock.monotonic() - service.downSinceMs
  service.downSinceMs = undefined
  core.observer.onOutage(
    `the service takes requests again after ${Math.round(downMs / 1_000)} s. Events that wait: ${core.counts.pending}.`,
  )
}

function halve(core: Core, items: readonly Item[]): void {
  core.parts.unshift(...halvesOf(core, items))
}

/** No request carries more than half of that again. */
function shrink(core: Core, items: readonly Item[]): void {
  let bytes = items.length - 1
  for (const item of items) bytes += item.bytes
  core.service.mostBytes = Math.min(core.service.mostBytes, bytes >> 1)
  halve(core, items)
}

/** It is no failure. */
function limited(core: Core, { batch, epoch }: Request, verdict: Verdict): void {
  const { service } = core
  service.problem = verdict
  putBack(core, batch)
  if (epoch !== service.epoch) return
  service.isLimited = true
  shut(core, service.gate, verdict.waitMs)
}

/** Nothing was ever accepted, and the service says that it never will. */
function misset(core: Core, request: Request, verdict: Verdict): void {
  const { service } = core
  service.problem = verdict
  for (const batch of core.held.splice(0)) putBack(core, batch)
  const items = [...request.batch.items, ...core.parts.splice(0).flatMap((part) => part.items)]
  if (request.epoch === service.epoch) countFailure(core, request, verdict)
  settle(core, items, verdict.error)
}

function failed(core: Core, request: Request, verdict: Verdict): void {
  const { service, held, settings } = core
  const { batch, isProbe } = request
  service.problem = verdict
  for (const item of batch.items) item.failures++
  if (!batch.isPart) service.limit = Math.max(1, service.limit >> 1)
  const before = isProbe ? request.successesBefore : (batch.successesBefore ?? request.successesBefore)
  // Others got through: it is these events.
  if (service.successes > before) return blame(core, batch)
  // A part that fails says nothing of the service.
  if (batch.isPart && !isProbe) {
    shut(core, core.partsGate, verdict.waitMs)
    // A number that was set counts for an event alone, also when nothing else is left that could get through.
    if (batch.items.length === 1 && settings.isMaxRetriesGiven) return blame(core, batch)
    core.parts.push(batch)
    return
  }
  held.push(batch)
  // What was sent before the doubt began is no further failure, and cannot confirm the first one.
  const isOld = request.epoch !== service.epoch
  const isConfirmed = service.failures > 1 || (service.failures === 1 && !isOld)
  // It is the service: what is held goes back to its places.
  if (isConfirmed) for (const one of held.splice(0)) putBack(core, one)
  if (!isOld) countFailure(core, request, verdict)
}

/** At the first failure the gate stays open for one other event, unless there is none or a wait was stated. */
function countFailure(core: Core, { sentMs }: Request, { waitMs }: Verdict): void {
  const { service, line, parts, held } = core
  const isOther = line.length + parts.length > 0 || held.some(({ items }) => items.length > 1)
  service.failures++
  service.failedAtMs.push(sentMs)
  const { retries } = retriesOf(core)
  if (service.failedAtMs.length > retries + 1) service.failedAtMs.shift()
  if (service.failures === 1 && held.length > 0 && isOther && waitMs === undefined) service.epoch++
  else shut(core, service.gate, waitMs)
  report(core, retries)
}

/** After `retries` + 1 failures in a row, or when the settings are wrong, one warning says so. */
function report(core: Core, retries: number): void {
  const { service, clock } = core
  const problem = service.problem as Verdict
  const isWrong = isOfSettings(problem)
  if (service.downSinceMs !== undefined || (service.failures <= retries && !isWrong)) return
  service.downSinceMs = service.failedAtMs[0] ?? clock.monotonic()
  const since = new Date(clock.now() - (clock.monotonic() - service.downSinceMs)).toISOString()
  const what = isWrong
    ? `the service refuses the address or the credentials`
    : `the service has taken no request since ${since}`
  core.observer.onOutage(`${what} (${problem.error.message}). Events that wait: ${core.counts.pending}.`)
}

/** These events have failed while others got through: several are halved, one alone gets a strike. */
export function blame(core: Core, { items }: Batch): void {
  const { settings, clock } = core
  if (items.length > 1) return void core.parts.push(...halvesOf(core, items))
  const [item] = items as [Item]
  item.strikes++
  if (item.strikes > settings.maxRetries) return settle(core, items, errorOf(core))
  const gate = { waits: item.strikes, shutMs: clock.monotonic(), statedMs: undefined, draw: draw(core) }
  core.parts.push(partOf(core, items, opensAtMs(gate, isSomebodyWaiting(core))))
}

/** What the service said last, as the error of events that end by it. */
export function errorOf({ service }: Core): DeliveryError {
  return (service.problem as Verdict).error
}

function halvesOf(core: Core, items: readonly Item[]): Batch[] {
  const middle = items.length >> 1
  return [partOf(core, items.slice(0, middle), 0), partOf(core, items.slice(middle), 0)]
}

function partOf({ service }: Core, items: Item[], notBeforeMs: number): Batch {
  return { items, isPart: true, successesBefore: service.successes, notBeforeMs, wasLost: false }
}

function putBack({ parts, line }: Core, batch: Batch): void {
  if (batch.isPart) parts.push(batch)
  else line.putBack(batch.items)
}

function shut(core: Core, gate: Gate, waitMs: number | undefined): void {
  const { clock, service, observer } = core
  gate.waits++
  gate.shutMs = clock.monotonic()
  gate.statedMs = waitMs === undefined ? undefined : spreadMs(waitMs, clock.random())
  gate.draw = draw(core)
  if (gate !== service.gate) return
  service.epoch++
  observer.onPause(opensAtMs(gate, isSomebodyWaiting(core)) - gate.shutMs)
}

function draw({ clock }: Core): number {
  return drawOf(clock.random())
}
