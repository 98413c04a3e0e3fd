import type { ToError } from '../delivery/send-result.ts'
import type { DeliveryError, FailureCode } from '../errors/errors.ts'
import type { Item } from '../line/item.ts'
import { backoffMs } from '../policy/response.ts'
import { Deadline } from './deadline.ts'

/** The events of one request. */
export interface Batch {
  items: Item[]
  /**
   * - `line`: comes from the line, and goes back to it
   * - `halved`: a part of a batch that was refused; it is sent as it is, before the line
   * - `suspect`: its events have failed while others were accepted
   */
  readonly role: 'line' | 'halved' | 'suspect'
  /** Whether the immediate, uncounted retry after a lost connection was used. */
  isFreeRetryUsed: boolean
  /** Whether the access token was renewed for this batch already. */
  isRenewed: boolean
  /** A suspect is not sent before this time, on the monotonic clock. */
  notBeforeMs: number
  /**
   * How often the event of a suspect has failed alone while the service accepted others; 0 if there are several. What is left
   * of a batch, because its other events were the control or were told, has failed alone once.
   */
  lonelyFailures: number
  /** When the first of these failures was, on the monotonic clock. */
  aloneSinceMs: number
  /** The number of requests that the service had accepted at the first, and at the last of these failures. */
  acceptedAtFirst: number
  acceptedAtLast: number
  /** The ceiling before the first 413 to this batch. */
  ceilingBefore: Size | undefined
  /** Makes the error for its last failure. */
  failure: ToError | undefined
}

export function createBatch(items: Item[], role: Batch['role'], of?: Batch): Batch {
  return {
    items,
    role,
    isFreeRetryUsed: of?.isFreeRetryUsed ?? false,
    isRenewed: of?.isRenewed ?? false,
    notBeforeMs: 0,
    lonelyFailures: of?.lonelyFailures ?? 0,
    aloneSinceMs: of?.aloneSinceMs ?? 0,
    acceptedAtFirst: of?.acceptedAtFirst ?? 0,
    acceptedAtLast: of?.acceptedAtLast ?? 0,
    ceilingBefore: of?.ceilingBefore,
    failure: of?.failure,
  }
}

/** How much one request may carry. The bytes are those of the messages and the commas between them. */
export interface Size {
  readonly events: number
  readonly bytes: number
}

/** For events up to the place `upTo` that became due at `atMs`: how many requests had failed in a row at that time. */
interface Due {
  upTo: number
  readonly atMs: number
  readonly failures: number
}

/** Dues within this time share an entry, which limits their number. */
const SAME_DUE_MS = 20
/** After this many successes at the ceiling, it rises by a tenth. */
const SUCCESSES_TO_RISE = 20

/**
 * What a client knows of its service: whether it fails, when it may be asked again, how much it takes in one request, and which
 * events are under suspicion. Plain data; `conclude.ts` says what a response changes, `pump.ts` what is sent next.
 *
 * @see docs/spec.md, section 8
 */
export interface Service {
  /** The settings. */
  readonly most: Size
  /** The learnt limit: halved by failures and refusals, doubled by successes. */
  limit: Size
  /** The ceiling of the limit, learnt from 413. */
  ceiling: Size
  successesAtCeiling: number
  /** The limit before the first failure in a row. */
  limitBefore: Size

  /** How many requests may be sent at once: one less for a 429 beside others, one more after each ten that are accepted. */
  slots: number

  /** Number of requests that were accepted. */
  accepted: number
  /** Number of requests that have failed in a row; 0 while the service is up. */
  failures: number
  /** Number of waits in a row for which the service named no time. */
  waits: number
  /** When the failures began, on the monotonic clock. */
  sinceMs: number
  /**
   * Whether the service limits the rate, or has named a wait: of more than 8 s, or any with a failure if `maxRetries` is not set.
   */
  isLimited: boolean
  /** Makes the error for the last failure, and its code if the service refused the address or the credentials. */
  problem: ToError | undefined
  code: FailureCode | undefined

  /** The gate: while it is shut, at most one request at a time is sent, from `shutAtMs + waitMs` on. */
  isShut: boolean
  isProbeOut: boolean
  shutAtMs: number
  waitMs: number
  /** Whether the service has named the wait. */
  isStated: boolean
  /** How often the gate has shut. */
  generation: number
  /** How many probes still carry the oldest event, to keep the order; see `maxConcurrentRequests`. */
  orderlyProbes: number
  /** Whether the next probe of a long outage may be large. */
  isLargeNext: boolean

  /** Batches that go out before the line, as they are. */
  again: Batch[]
  /** Batches that have failed, until another request tells whether the service or their events are the reason. */
  held: Batch[]
  suspects: Batch[]
  suspectsInFlight: number
  /** Suspects that have failed for the first time since a request was last accepted. */
  suspectFailures: number
  wasSuspectLast: boolean
  /** When a bad event was last found. */
  badAtMs: number
  /**
   * How often a single event fails that has not failed before. Like the next field a moving average from 0 to 1, which shows that
   * requests fail at random, and no event is to blame. @see failuresToGiveUp
   */
  firstFailures: number
  /** How many events that have failed alone get through later. */
  redeemed: number

  /** Events that were refused alone, one after another, and those of them with the last text; the limit before all of that. */
  refusals: { text: string; same: number; count: number; limitBefore: Size | undefined }
  /** Set when the service refuses everything: the number of requests that it has refused since. */
  refusedWhole: number | undefined

  /** The events that have become due since the service last answered without failing. */
  readonly dues: Due[]
  /** Awaited events up to this place are told. */
  toldUpTo: number
  readonly outageDeadline: Deadline
  readonly limitDeadline: Deadline
}

export interface ServiceLimits {
  readonly maxTotalBackoffDuration: number
  readonly maxRateLimitDuration: number
}

export function createService(most: Size, limits: ServiceLimits): Service {
  return {
    most,
    limit: most,
    ceiling: most,
    successesAtCeiling: 0,
    limitBefore: most,
    slots: Number.POSITIVE_INFINITY,
    accepted: 0,
    failures: 0,
    waits: 0,
    sinceMs: 0,
    isLimited: false,
    problem: undefined,
    code: undefined,
    isShut: false,
    isProbeOut: false,
    shutAtMs: 0,
    waitMs: 0,
    isStated: false,
    generation: 0,
    orderlyProbes: 0,
    isLargeNext: false,
    again: [],
    held: [],
    suspects: [],
    suspectsInFlight: 0,
    suspectFailures: 0,
    wasSuspectLast: false,
    badAtMs: Number.NEGATIVE_INFINITY,
    firstFailures: 0,
    redeemed: 0,
    refusals: { text: '', same: 0, count: 0, limitBefore: undefined },
    refusedWhole: undefined,
    dues: [],
    toldUpTo: 0,
    outageDeadline: new Deadline(limits.maxTotalBackoffDuration * 1_000),
    limitDeadline: new Deadline(limits.maxRateLimitDuration * 1_000),
  }
}

/** Whether the service fails or limits the rate. */
export function isInTrouble({ failures, isLimited }: Service): boolean {
  return failures > 0 || isLimited
}

/** How many results the moving averages span. */
const FIRST_SPAN = 24
/** A single event that gets through after it has failed alone says more than one that does not. */
const REDEEMED_SPAN = 4
const UNREDEEMED_SPAN = 16

/** Single events that have not failed before tell whether the service fails at random; in an outage they tell nothing. */
export function noteSingle(service: Service, batch: Batch, hasFailed: boolean): void {
  const { items, role, lonelyFailures } = batch
  if (!hasFailed && lonelyFailures > 0) noteRedeemed(service, true)
  if (items.length !== 1 || role !== 'line' || items[0]?.failures !== 0 || service.failures > 1) return
  service.firstFailures += (Number(hasFailed) - service.firstFailures) / FIRST_SPAN
}

export function noteRedeemed(service: Service, isRedeemed: boolean): void {
  const span = isRedeemed ? REDEEMED_SPAN : UNREDEEMED_SPAN
  service.redeemed += (Number(isRedeemed) - service.redeemed) / span
}

/** A batch at the ceiling was accepted, which hardly happens where requests fail at random. */
function noteFull(service: Service): void {
  service.firstFailures -= service.firstFailures / FIRST_SPAN
  service.redeemed -= service.redeemed / FIRST_SPAN
}

/** One suspect in 250 that would get through is given up. */
const MISJUDGED = 0.004

/** How often a suspect has to fail alone, where requests fail at random, before that is hardly chance. */
export function failuresToGiveUp({ firstFailures, redeemed }: Service): number {
  if (firstFailures <= 0.25 && redeemed <= 0.5) return 0
  return Math.log(MISJUDGED) / Math.log(Math.min(0.95, Math.max(0.5, firstFailures)))
}

/** The last failure of the service as an error; `undefined` while it does not fail. */
export function troubleOf(service: Service, code: FailureCode): DeliveryError | undefined {
  return isInTrouble(service) ? service.problem?.(service.code ?? code) : undefined
}

/** Shuts the gate for a wait; 0 asks at once. */
export function shut(service: Service, nowMs: number, waitMs: number, isStated: boolean): void {
  service.generation++
  service.isShut = true
  service.isProbeOut = false
  service.shutAtMs = nowMs
  service.waitMs = waitMs
  service.isStated = isStated
}

/** A wait that grows with each in a row. */
export function nextBackoffMs(service: Service, random: number): number {
  service.waits++
  return backoffMs(service.waits, random)
}

/** While somebody waits, the wait between two probes is at most this long, in milliseconds. @see docs/spec.md, section 8.1 */
export const IMPATIENT_MS = 8_000

/** When the next request may be sent, on the monotonic clock. */
export function opensAtMs({ isStated, shutAtMs, waitMs }: Service, isSomebodyWaiting: boolean): number {
  // The wait of a backoff is random within its upper half, and so is the shorter one.
  const isShortened = isSomebodyWaiting && !isStated && waitMs > IMPATIENT_MS
  return shutAtMs + (isShortened ? IMPATIENT_MS / 2 + (waitMs % (IMPATIENT_MS / 2)) : waitMs)
}

export function halveLimit(service: Service): void {
  service.limit = halfOf(service.limit)
}

export function halfOf({ events, bytes }: Size): Size {
  return { events: Math.max(1, events >> 1), bytes: Math.max(1, bytes >> 1) }
}

/** A whole batch was accepted. */
export function doubleLimit(service: Service): void {
  const { limit, ceiling, most } = service
  if (limit.events < ceiling.events || limit.bytes < ceiling.bytes) {
    service.limit = smaller({ events: limit.events * 2, bytes: limit.bytes * 2 }, ceiling)
    return
  }
  noteFull(service)
  if (ceiling.events >= most.events && ceiling.bytes >= most.bytes) return
  if (++service.successesAtCeiling < SUCCESSES_TO_RISE) return
  service.successesAtCeiling = 0
  const raised = { events: Math.ceil(ceiling.events * 1.1), bytes: Math.ceil(ceiling.bytes * 1.1) }
  service.ceiling = smaller(raised, most)
  service.limit = service.ceiling
}

/** A request with several events was too large. */
export function lowerCeiling(service: Service, events: number, bytes: number): void {
  service.ceiling = smaller(service.ceiling, halfOf({ events, bytes }))
  service.limit = smaller(service.limit, service.ceiling)
  service.successesAtCeiling = 0
}

function smaller(a: Size, b: Size): Size {
  return { events: Math.min(a.events, b.events), bytes: Math.min(a.bytes, b.bytes) }
}

/** Notes that the events up to this place are due. */
export function noteDue(service: Service, upTo: number, nowMs: number): void {
  const { dues, failures } = service
  const last = dues[dues.length - 1]
  if (upTo <= (last?.upTo ?? service.toldUpTo)) return
  if (last?.failures === failures && nowMs - last.atMs < SAME_DUE_MS) last.upTo = upTo
  else dues.push({ upTo, atMs: nowMs, failures })
}

/** Whether somebody who has waited since `since` failures in a row is told now. */
export function isToldNow(failures: number, since: number, attempts: number): boolean {
  // In a row since the wait began; or one more, once the outage has that many behind it.
  return failures >= Math.min(since + attempts, Math.max(since, attempts) + 1)
}

/** A request failed: moves the place up to which awaited events are told. */
export function passFailures(service: Service, attempts: number): void {
  const { dues } = service
  while (dues[0] !== undefined && isToldNow(service.failures, dues[0].failures, attempts)) passDue(service)
}

/** How long an awaited event, and a flush, wait for the end of a rate limit. */
export const LIMIT_PATIENCE_MS = 10_000

/** The same while the rate is limited. */
export function passLimited(service: Service, nowMs: number): void {
  const { dues } = service
  while (dues[0] !== undefined && dues[0].atMs + LIMIT_PATIENCE_MS <= nowMs) passDue(service)
}

/** Those who wait have not waited in vain. */
export function endDues(service: Service): void {
  service.dues.length = 0
  service.toldUpTo = 0
}

function passDue(service: Service): void {
  service.toldUpTo = (service.dues.shift() as Due).upTo
}

/** The service has answered without failing. */
export function endTrouble(service: Service): void {
  service.failures = 0
  service.waits = 0
  service.isLimited = false
  service.problem = undefined
  service.code = undefined
  service.isLargeNext = false
  endDues(service)
  service.outageDeadline.end()
  service.limitDeadline.end()
}
