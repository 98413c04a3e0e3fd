import type { SendResult, ToError } from '../delivery/send-result.ts'
import type { Ending } from '../delivery/sender.ts'
import { DeliveryError, type FailureCode } from '../errors/errors.ts'
import type { Item } from '../line/item.ts'
import { totalBytes } from '../line/store.ts'
import { backoffMs, spreadMs } from '../policy/response.ts'
import type { Core, Request } from './core.ts'
import {
  type Batch,
  createBatch,
  doubleLimit,
  endDues,
  endTrouble,
  failuresToGiveUp,
  halveLimit,
  isToldNow,
  LIMIT_PATIENCE_MS,
  lowerCeiling,
  nextBackoffMs,
  noteRedeemed,
  noteSingle,
  opensAtMs,
  passFailures,
  passLimited,
  type Service,
  shut,
  troubleOf,
} from './service.ts'
import { settle, settleAll } from './settle.ts'

/** A stated wait that is longer than this counts as a rate limit, in milliseconds. @see docs/spec.md, section 8.1 */
const LONG_WAIT_MS = 8_000
/** After so many events that were refused alone, with one text or with any, the service refuses everything. */
const REFUSALS_WITH_ONE_TEXT = 8
const REFUSALS_IN_A_ROW = 16
/** After so many suspects have failed in a row, with nothing accepted in between, the service is asked again first. */
const SUSPECTS_IN_A_ROW = 8
/** While the service refuses everything, every so many refused requests one is halved, to ask again. */
const ASK_AGAIN_EVERY = 10
/** After a bad event was found, others are asked first for this long, even if the order is kept. */
const BAD_MEMORY_MS = 60_000
/** Each request that is in flight when a rate limit is reached is one too many: there are fewer at once then, for some time. */
const SLOTS_PER_SUCCESS = 0.1
/** An event that has been in so many failed requests may be bad: then the order is not kept. */
const DOUBTED_FROM = 5

/**
 * What the response to a request changes: outcomes of its events, where they go otherwise, the gate, and the learnt limit.
 *
 * @see docs/spec.md, section 8, of which this function is the table
 */
export function conclude(core: Core, request: Request, ending: Ending): void {
  const { batch } = request
  if (ending.action === 'unsent') {
    if (ending.error !== undefined)
      refuseSettings(core, request, () => ending.error as DeliveryError, 'auth', 'token')
    else asIfUnsent(core, request)
    return
  }
  const { action, toError, waitMs } = ending
  switch (action) {
    case 'delivered':
      accepted(core, request, waitMs)
      return settleBatch(core, batch, undefined)
    case 'retry':
      return failed(core, request, ending)
    case 'limited':
      return rateLimited(core, request, ending)
    case 'split':
      return tooLarge(core, request, toError)
    case 'bisect':
      return refused(core, request, ending)
    case 'resend':
      answered(core, request)
      return sendAgain(core, batch)
    case 'renew':
      if (batch.isRenewed) return refuseSettings(core, request, toError, 'auth', 'unrenewable')
      batch.isRenewed = true
      renewed(core, request)
      return sendAgain(core, batch)
    case 'auth':
      return refuseSettings(core, request, toError, 'auth', String(ending.status), ending.status === 403)
    case 'address':
      return refuseSettings(core, request, toError, 'rejected', String(ending.status), ending.status !== 407)
    case 'rejected':
      answered(core, request)
      return settleBatch(core, batch, toError('rejected'))
  }
}

/** The code of this library threw: handled like a failed request. */
export function contain(core: Core, request: Request, error: ToError): void {
  fail(core, request, error, undefined, undefined, request.batch.role === 'suspect')
}

/** The events of an outage or a rate limit that have waited too long, or have been awaited long enough, get their outcome. */
export function expire(core: Core): void {
  const { service, clock, settings } = core
  const nowMs = clock.monotonic()
  for (const [deadline, name] of [
    [service.limitDeadline, 'maxRateLimitDuration'],
    [service.outageDeadline, 'maxTotalBackoffDuration'],
  ] as const) {
    const upTo = deadline.expiredUpTo(nowMs)
    if (upTo === 0) continue
    const toError = (trouble: DeliveryError): DeliveryError => {
      const message = `${trouble.message}; given up after ${settings[name]} s (${name})`
      return new DeliveryError('deadline', message, { ...trouble, cause: trouble })
    }
    endWaiting(core, upTo, () => true, 'deadline', toError)
  }
  if (!service.isLimited) return
  const before = service.toldUpTo
  passLimited(service, nowMs)
  if (service.toldUpTo > before) tellDue(core)
  for (const flush of [...core.flushes]) {
    if (flush.isPatient) continue
    // What only a close waits for waits for the stated time, if that ends within the time of the close.
    const isOver = flush.isClose
      ? service.isStated && opensAtMs(service, true) > flush.deadlineMs
      : nowMs - flush.beganMs >= LIMIT_PATIENCE_MS
    if (isOver) flush.expire()
  }
}

/** When {@link expire} has something to do, on the monotonic clock. */
export function nextExpiryMs({ service, flushes }: Core): number {
  const deadlineMs = Math.min(service.outageDeadline.nextMs, service.limitDeadline.nextMs)
  if (!service.isLimited) return deadlineMs
  const dueMs = service.dues[0]?.atMs ?? Number.POSITIVE_INFINITY
  const flushMs =
    flushes.find(({ isClose, isPatient }) => !isClose && !isPatient)?.beganMs ?? Number.POSITIVE_INFINITY
  return Math.min(deadlineMs, Math.min(dueMs, flushMs) + LIMIT_PATIENCE_MS)
}

/** Whether somebody waits: a flush, a close, or an event whose outcome is awaited. */
export function isSomebodyWaiting({ flushes, counts, settings }: Core): boolean {
  return flushes.length > 0 || counts.awaited > 0 || settings.isMaxRetriesGiven
}

function accepted(core: Core, request: Request, waitMs: number | undefined): void {
  const { service } = core
  service.accepted++
  service.slots += SLOTS_PER_SUCCESS
  noteSingle(service, request.batch, false)
  service.suspectFailures = 0
  service.refusals.count = 0
  service.refusals.limitBefore = undefined
  service.refusedWhole = undefined
  answered(core, request)
  if (request.batch.role === 'line') doubleLimit(service)
  if (waitMs === undefined || waitMs <= 0) return
  const message = `the service asks for a wait of ${Math.ceil(waitMs / 1_000)} s`
  obey(core, request, waitMs, (code) => new DeliveryError(code, message))
}

/** The service asks for a wait; a long one counts as a rate limit. */
function obey(core: Core, request: Request, waitMs: number, toError: ToError): void {
  shutStated(core, request, waitMs)
  if (waitMs > LONG_WAIT_MS) beginRateLimit(core, toError)
}

/** What is due waits for the end of a rate limit. */
function beginRateLimit({ service, line, clock }: Core, toError: ToError): void {
  service.problem = toError
  service.code = undefined
  service.isLimited = true
  service.limitDeadline.begin(line.dueOrder, clock.monotonic())
}

/** The service has answered without failing: it is up, and what has failed before is under suspicion. */
function answered(core: Core, request: Request): void {
  const { service, monitor, clock, settings } = core
  const { isLimited, problem } = service
  // A wait that the service has stated meanwhile goes on.
  const isKept = service.isShut && service.isStated && request.generation !== service.generation
  const isOver = service.failures > settings.maxRetries
  if (isOver) monitor.onRecovery(clock.monotonic() - service.sinceMs)
  if (service.failures > 0 || (isLimited && !isKept)) {
    for (const flush of core.flushes) flush.sinceFailures = 0
    endTrouble(service)
  }
  endDues(service)
  if (!isKept) service.isShut = false
  else if (isLimited && problem !== undefined) beginRateLimit(core, problem)
  const { held } = service
  service.held = []
  // The oldest event was asked first, and it has got through: the failure was short.
  service.orderlyProbes = 0
  if (request.isOldest) for (const batch of held) giveBack(core, batch)
  else for (const batch of held) suspect(core, batch)
}

/** The access token was refused; with a new one the request may be sent again. In an outage, this does not end the outage. */
function renewed(core: Core, request: Request): void {
  const { service } = core
  if (service.failures === 0) answered(core, request)
  else if (request.generation === service.generation) service.isProbeOut = false
}

/** Network errors, timeouts, and statuses that say that the service fails. */
function failed(core: Core, request: Request, result: SendResult): void {
  const { service } = core
  const { batch } = request
  const isOpen = !service.isShut && request.generation === service.generation
  if (result.isConnectionLost && !batch.isFreeRetryUsed && isOpen) {
    // The server may have just closed an idle connection, which tells nothing about the service.
    batch.isFreeRetryUsed = true
    return sendAgain(core, batch)
  }
  fail(core, request, result.toError, result.waitMs, undefined, !result.isUnreachable)
}

/**
 * A request failed. Is it the service, or these events? None of them has its outcome yet. The first of these that applies says
 * where they go:
 *
 * - They are suspects, and not too many suspects fail in a row: they stay suspects. One that is alone may be told now.
 * - Others were accepted since the request was sent: they become suspects.
 * - The gate has shut since the request was sent: they are held with those of the failure that shut it, or else go back into
 *   their places in the line.
 * - It is the first failure after a success, or that of a probe with the oldest event: they are held until another request is
 *   accepted, which makes them suspects, or fails.
 * - Otherwise, they and all that is held go back into their places.
 *
 * In the last two cases the gate shuts, and who has waited for enough failures is told.
 *
 * @param statedMs The wait that the service asks for.
 * @param code Set when the service refuses the address or the credentials.
 * @param isAboutEvents Whether the events may be the reason.
 */
function fail(
  core: Core,
  request: Request,
  toError: ToError,
  statedMs: number | undefined,
  code: FailureCode | undefined,
  isAboutEvents: boolean,
): void {
  const { service, clock, settings, line, monitor } = core
  const { batch } = request
  const nowMs = clock.monotonic()
  batch.failure = toError
  noteSingle(service, batch, true)
  for (const item of batch.items) item.failures++
  // Suspects fail without counting as failures of the service, unless all of them do.
  const isSuspected = batch.role === 'suspect' && !request.isProbe && isAboutEvents
  if (isSuspected && !areAllFailing(service, batch)) {
    // After a rate limit, a suspect that fails as the first request tells no less than one that is accepted.
    if (request.generation === service.generation) service.isShut = false
    // While the service itself is in question, they are not counted.
    if (service.isShut) service.suspects.push(batch)
    else suspect(core, batch)
    if (statedMs !== undefined) obey(core, request, statedMs, toError)
    return
  }
  service.problem = toError
  service.code = code
  // Another request was accepted since this one was sent: the service is up.
  const isUp = service.accepted > request.accepted && statedMs === undefined
  if (isAboutEvents && !service.isShut && isUp && batch.role !== 'suspect') {
    halveLimit(service)
    return suspect(core, batch)
  }
  if (request.generation !== service.generation) {
    // A request beside one whose failure is known already counts as the same failure.
    if (code === undefined) halveLimit(service)
    if (isAboutEvents && service.held.length > 0) service.held.push(batch)
    else giveBack(core, batch)
    if (statedMs !== undefined) obey(core, request, statedMs, toError)
    // Those who had waited long enough while their events were in flight.
    tellDue(core)
    return
  }
  const isFirst = service.failures === 0
  if (isFirst) {
    service.sinceMs = nowMs
    service.limitBefore = service.limit
    const isDoubted = batch.items.some(({ failures }) => failures >= DOUBTED_FROM)
    const isOrderly =
      settings.maxConcurrentRequests === 1 && !isDoubted && nowMs - service.badAtMs > BAD_MEMORY_MS
    service.orderlyProbes = isOrderly ? Math.max(1, settings.maxRetries - 1) : 0
  }
  if (code === undefined) halveLimit(service)
  service.failures++
  service.outageDeadline.begin(line.dueOrder, nowMs)
  const isHeld =
    isAboutEvents && batch.role !== 'suspect' && service.accepted > 0 && (isFirst || request.isOldest)
  const isControlled =
    isFirst && isHeld && service.orderlyProbes === 0 && !statedMs && mayControl(core, batch)
  if (isHeld) hold(service, batch)
  else {
    const { held } = service
    service.held = []
    for (const one of [...held, batch, ...service.again.splice(0)]) giveBack(core, one)
  }
  const waitMs = isControlled ? 0 : nextBackoffMs(service, clock.random())
  const leastMs = statedMs === undefined ? 0 : spreadMs(statedMs, clock.random())
  shut(service, nowMs, Math.max(waitMs, leastMs), leastMs > waitMs)
  const isLong = statedMs !== undefined && statedMs > LONG_WAIT_MS
  // Who waits is told in time also where the service names short waits again and again, unless the number of requests was set.
  service.isLimited ||= isLong || (leastMs > 0 && !settings.isMaxRetriesGiven)
  if (isLong) service.limitDeadline.begin(line.dueOrder, nowMs)
  if (service.waitMs > 0) monitor.onPause(service.waitMs)
  if (service.failures === settings.maxRetries + 1) {
    monitor.onOutage(nowMs - service.sinceMs, toError('retries_exhausted').message)
  }
  if (!isControlled) tellAwaited(core)
}

/** Counts the suspects that fail for the first time. Whether too many did in a row, with nothing accepted in between. */
function areAllFailing(service: Service, { lonelyFailures }: Batch): boolean {
  if (lonelyFailures === 0) service.suspectFailures++
  return service.suspectFailures >= SUSPECTS_IN_A_ROW
}

/** Whether another event can be asked at once. */
function mayControl({ line, service }: Core, { items }: Batch): boolean {
  return items.length > 1 || line.readyLength > 0 || service.again.length > 0
}

function hold(service: Service, batch: Batch): void {
  const [first] = service.held
  // The probe has carried the oldest event of the held batch.
  if (first !== undefined && batch.items.length === 1) first.items.unshift(...batch.items)
  else service.held.push(batch)
}

/** Tells those who wait that the service has failed often enough since they began. @see docs/spec.md, section 8.1 */
export function tellAwaited(core: Core): void {
  const { service, settings } = core
  passFailures(service, settings.maxRetries + 1)
  tellDue(core)
  for (const flush of [...core.flushes]) {
    if (!isToldNow(service.failures, flush.sinceFailures, flush.attempts)) continue
    if (flush.isClose && core.spool === undefined) tell(core, Number.POSITIVE_INFINITY, () => true)
    else flush.expire()
  }
}

/** Tells the awaited events that have waited long enough. */
function tellDue(core: Core): void {
  const { service, settings, counts } = core
  if (counts.awaited === 0 && !settings.isMaxRetriesGiven && !core.isHandedOver) return
  tell(core, service.toldUpTo, (item) => isAwaited(core, item))
}

function isAwaited({ settings, isHandedOver }: Core, { callback }: Item): boolean {
  return callback !== undefined || settings.isMaxRetriesGiven || isHandedOver
}

function tell(core: Core, upTo: number, isMeant: (item: Item) => boolean): void {
  endWaiting(core, upTo, isMeant, 'retries_exhausted', (trouble) => trouble)
}

/**
 * Ends the waiting events up to this place that are meant: the service is in trouble, or nobody would have waited for too long.
 * All of them are taken out before the first outcome is told, because a callback may flush.
 */
function endWaiting(
  core: Core,
  upTo: number,
  isMeant: (item: Item) => boolean,
  code: FailureCode,
  toError: (trouble: DeliveryError) => DeliveryError,
): void {
  const { line, service } = core
  const trouble = troubleOf(service, code)
  // Without an error, these events would count as delivered.
  if (trouble === undefined) return
  const isNow = (item: Item): boolean => item.order <= upTo && isMeant(item)
  const items = line.find(Math.min(upTo, line.passedOrder), isMeant)
  for (const list of [service.again, service.held, service.suspects]) {
    for (const batch of list.splice(0)) {
      items.push(...batch.items.filter(isNow))
      batch.items = batch.items.filter((item) => !isNow(item))
      if (batch.items.length > 0) list.push(batch)
    }
  }
  if (items.length === 0) return
  const error = toError(trouble)
  for (const item of items) line.leave(item)
  settleAll(core, items, error)
}

/** The service limits the rate: everything waits, which says nothing about the events. */
function rateLimited(core: Core, request: Request, { status, toError, waitMs }: SendResult): void {
  const { service, clock } = core
  asIfUnsent(core, request)
  // One of the token server says nothing about requests of events.
  if (status !== undefined && core.inFlight.size > 1)
    service.slots = Math.min(service.slots, core.inFlight.size - 1)
  // The gate has shut and opened again since the request was sent.
  if (waitMs === undefined && request.generation !== service.generation && !service.isShut) return
  beginRateLimit(core, toError)
  tellDue(core)
  if (waitMs !== undefined) return shutStated(core, request, waitMs)
  if (request.generation !== service.generation) return
  shut(service, clock.monotonic(), nextBackoffMs(service, clock.random()), false)
  core.monitor.onPause(service.waitMs)
}

/** A gate that is shut already can only be made to wait for longer. */
function shutStated({ service, clock, monitor }: Core, { generation }: Request, statedMs: number): void {
  const nowMs = clock.monotonic()
  const waitMs = spreadMs(statedMs, clock.random())
  const isLate = service.isShut && generation !== service.generation
  if (isLate && (service.isProbeOut || nowMs + waitMs <= service.shutAtMs + service.waitMs)) return
  shut(service, nowMs, waitMs, true)
  monitor.onPause(waitMs)
}

/** The service refuses the address or the credentials, which says nothing about the events. */
function refuseSettings(
  core: Core,
  request: Request,
  toError: ToError,
  code: FailureCode,
  kind: string,
  isAboutEvents = false,
): void {
  const { warnings, monitor } = core
  if (isUnproven(core)) {
    // The settings are wrong.
    settleBatch(core, request.batch, toError(code))
    return fail(core, request, toError, undefined, code, false)
  }
  if (!warnings.hasTold(`refusal ${kind}`)) monitor.onRefusal(toError(code).message)
  const toErrorOf: ToError = (given) => toError(given === 'retries_exhausted' ? code : given)
  fail(core, request, toErrorOf, undefined, code, isAboutEvents)
}

/** Nothing was accepted yet, so a refusal of the address or the credentials means that the settings are wrong. */
export function isUnproven({ service, settings }: Core): boolean {
  return service.accepted === 0 && settings.spool === undefined
}

/** 413: fewer events go into one request. */
function tooLarge(core: Core, request: Request, toError: ToError): void {
  const { service } = core
  const { batch } = request
  answered(core, request)
  if (batch.items.length === 1) {
    // The event was the reason, and not the size of the batch from which it comes.
    if (batch.ceilingBefore !== undefined) service.ceiling = batch.ceilingBefore
    return settleBatch(core, batch, toError('too_large'))
  }
  batch.ceilingBefore ??= service.ceiling
  lowerCeiling(service, batch.items.length, totalBytes(batch.items))
  halve(core, batch)
}

/** 400 or 422: one bad event must not cost its neighbours, unless everything is refused. */
function refused(core: Core, request: Request, { toError, text }: SendResult): void {
  const { service, clock } = core
  const { refusals } = service
  const { batch } = request
  answered(core, request)
  const limitBefore = service.limit
  refusals.limitBefore ??= limitBefore
  halveLimit(service)
  if (service.refusedWhole !== undefined) {
    service.limit = limitBefore
    service.refusedWhole++
    const isAsking = batch.role === 'line' && batch.items.length > 1
    if (isAsking && service.refusedWhole % ASK_AGAIN_EVERY === 0) return halve(core, batch)
    return settleBatch(core, batch, toError('rejected'))
  }
  if (batch.items.length > 1) return halve(core, batch)
  service.badAtMs = clock.monotonic()
  refusals.same = refusals.count++ > 0 && refusals.text === text ? refusals.same + 1 : 1
  refusals.text = text
  if (refusals.same >= REFUSALS_WITH_ONE_TEXT || refusals.count >= REFUSALS_IN_A_ROW) {
    service.refusedWhole = 0
    service.limit = refusals.limitBefore
    const rest = service.again.filter(({ role }) => role === 'halved')
    service.again = service.again.filter(({ role }) => role !== 'halved')
    for (const one of [batch, ...rest]) settleBatch(core, one, toError('rejected'))
    return
  }
  settleBatch(core, batch, toError('rejected'))
}

/** Two halves go out before the line, the first one first. */
function halve({ service }: Core, batch: Batch): void {
  const { items } = batch
  const middle = (items.length + 1) >> 1
  service.again.unshift(
    createBatch(items.slice(0, middle), 'halved', batch),
    createBatch(items.slice(middle), 'halved', batch),
  )
}

/** The events of a batch failed while others were accepted: they are halved until those that fail are alone. */
export function suspect(core: Core, batch: Batch): void {
  const { service } = core
  const { items } = batch
  if (items.length === 0) return
  service.badAtMs = core.clock.monotonic()
  if (items.length === 1) return suspectAlone(core, batch, items[0] as Item)
  const middle = (items.length + 1) >> 1
  for (const part of [items.slice(0, middle), items.slice(middle)]) {
    const half = createBatch(part, 'suspect')
    half.isFreeRetryUsed = batch.isFreeRetryUsed
    half.failure = batch.failure
    service.suspects.push(half)
  }
}

/** An event has failed alone, or is what is left of a batch that has failed, while the service accepted others. */
function suspectAlone(core: Core, batch: Batch, item: Item): void {
  const { service, settings, clock } = core
  const { failure } = batch
  const nowMs = clock.monotonic()
  const { accepted } = service
  if (batch.lonelyFailures === 0) {
    batch.acceptedAtFirst = accepted
    batch.aloneSinceMs = nowMs
  }
  const isUsedUp = batch.lonelyFailures >= settings.maxRetries
  const isUp = accepted > batch.acceptedAtLast || !isAnotherDue(core)
  // What nobody awaits waits until something was accepted after its failure: before, the service may have gone down.
  const isProven = isAwaited(core, item) || core.isClosed || accepted > batch.acceptedAtFirst
  batch.lonelyFailures++
  const isLiteral = settings.isMaxRetriesGiven || core.isClosed
  const isSpared = !isLiteral && batch.lonelyFailures < failuresToGiveUp(service)
  batch.acceptedAtLast = accepted
  if (isUsedUp) noteRedeemed(service, false)
  if (isUsedUp && isUp && isProven && !isSpared) {
    return settle(core, item, failure?.('retries_exhausted'))
  }
  if (nowMs - batch.aloneSinceMs >= settings.maxTotalBackoffDuration * 1_000) {
    return settle(core, item, failure?.('deadline'))
  }
  const again = createBatch([item], 'suspect', batch)
  again.notBeforeMs = nowMs + backoffMs(batch.lonelyFailures, clock.random())
  service.suspects.push(again)
  // Only what nobody can prove is left: a flush has waited for it often enough.
  if (isAnotherDue(core)) return
  for (const flush of [...core.flushes]) {
    if (!flush.isClose && flush.attempts <= batch.lonelyFailures) flush.expire()
  }
}

/** Suspects that have failed often enough do not count: two bad events must not wait for each other. */
function isAnotherDue({ line, inFlight, service, settings }: Core): boolean {
  const mayGetThrough = ({ lonelyFailures }: Batch): boolean => lonelyFailures <= settings.maxRetries
  return line.isDue || inFlight.size > 1 || service.again.length > 0 || service.suspects.some(mayGetThrough)
}

function settleBatch(core: Core, batch: Batch, error: DeliveryError | undefined): void {
  const { items } = batch
  batch.items = []
  settleAll(core, items, error)
}

function sendAgain({ service }: Core, batch: Batch): void {
  service.again.unshift(batch)
}

/** The request tells nothing about its events, which go back where they came from. */
function asIfUnsent(core: Core, { batch }: Request): void {
  if (batch.role === 'halved') core.service.again.unshift(batch)
  else giveBack(core, batch)
}

/** Puts events back into their places in the line; suspects stay suspects. */
function giveBack({ line, service }: Core, batch: Batch): void {
  const items = batch.items.filter(({ state }) => state === 'sent')
  batch.items = []
  if (items.length === 0) return
  if (batch.role === 'suspect') service.suspects.push(createBatch(items, 'suspect', batch))
  else line.giveBack(items)
}
