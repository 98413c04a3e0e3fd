import { type Ending, UNSENT } from '../delivery/sender.ts'
import { describeCause } from '../errors/cause.ts'
import { DeliveryError } from '../errors/errors.ts'
import { isInstance } from '../errors/guard.ts'
import type { Item } from '../line/item.ts'
import {
  conclude,
  contain,
  expire,
  isSomebodyWaiting,
  isUnproven,
  nextExpiryMs,
  tellAwaited,
} from './conclude.ts'
import type { Core, Request } from './core.ts'
import { pendingOf } from './counts.ts'
import { type Batch, createBatch, noteDue, opensAtMs } from './service.ts'
import { catchUp, readShared, writeShared } from './share.ts'

/** From this failure in a row on, every second probe is as large as the requests were before. */
const LARGE_PROBES_FROM = 4

/** Sends everything that may be sent now. Whatever may have changed something just calls it again. Never throws. */
export function pump(core: Core): void {
  catchUp(core)
  noteAllDue(core)
  expire(core)
  // Events have left the line since.
  core.spool?.refill()
  for (let request = next(core); request !== undefined; request = next(core)) {
    const sent = request
    core.inFlight.add(sent)
    // What breaks again while a failure is handled stays with its request: a close gives the events their outcome.
    core.asyncContext.runInAsyncScope(() => attempt(core, sent)).catch(() => {})
  }
  wakeUp(core)
}

function noteAllDue({ service, line, clock }: Core): void {
  noteDue(service, line.dueOrder, clock.monotonic())
}

/** Sends what waits after `flushInterval`, even if it is less than `flushAt`. */
export function armInterval(core: Core): void {
  if (core.line.readyLength === 0) {
    core.cancelInterval?.()
    core.cancelInterval = undefined
  } else if (core.cancelInterval === undefined) {
    core.cancelInterval = core.clock.setTimer(() => {
      core.cancelInterval = undefined
      core.line.makeAllDue()
      pump(core)
      armInterval(core)
    }, core.settings.flushInterval)
  }
}

/** The next request, or `undefined` when none may be sent now. */
function next(core: Core): Request | undefined {
  const { service, settings, clock, inFlight } = core
  // What was sent before the gate has shut may hang: it takes no slot.
  const current = [...inFlight].filter(({ generation }) => generation === service.generation)
  if (inFlight.size >= settings.maxConcurrentRequests || current.length >= slotsOf(core)) return undefined
  if (service.isShut) {
    if (service.isProbeOut || clock.monotonic() < opensAtMs(service, isSomebodyWaiting(core)))
      return undefined
    // Where the settings are wrong, there is nothing to find out: what is due fails at once.
    const isProbe = service.failures > 0 && (service.code === undefined || !isUnproven(core))
    const isOldest = isProbe && service.orderlyProbes > 0
    const batch = (isOldest ? oldest(core) : undefined) ?? (isProbe ? other(core) : nextBatch(core))
    if (batch === undefined) return undefined
    if (isOldest) service.orderlyProbes--
    service.isProbeOut = true
    return createRequest(core, batch, isProbe, isOldest)
  }
  const batch = nextBatch(core)
  return batch === undefined ? undefined : createRequest(core, batch, false, false)
}

/** How many requests may be in flight now. */
function slotsOf({ settings, service }: Core): number {
  return Math.floor(Math.min(settings.maxConcurrentRequests, service.slots))
}

function createRequest(core: Core, batch: Batch, isProbe: boolean, isOldest: boolean): Request {
  const { generation, accepted } = core.service
  // A probe may take events that were not due.
  noteAllDue(core)
  return { batch, isProbe, isOldest, generation, accepted }
}

/** While the service is up: what was refused or lost goes first, then the line; suspects wait behind, but get their share. */
function nextBatch(core: Core): Batch | undefined {
  const { service, line } = core
  const isGoodReady = service.again.length > 0 || line.isDue
  const most = Math.max(1, slotsOf(core) >> 1)
  const isTurnOfGood = isGoodReady && (service.isShut || service.wasSuspectLast)
  const maySuspect = service.suspectsInFlight < most && !isTurnOfGood
  const suspect = maySuspect ? readySuspect(core) : undefined
  service.wasSuspectLast = suspect !== undefined
  if (suspect !== undefined) return suspect
  // After a 413, one part goes at a time: several at once would be refused before the first has taught the size.
  const isBusy = isOf413(service.again[0]) && [...core.inFlight].some((request) => isOf413(request.batch))
  const again = isBusy ? undefined : service.again.shift()
  if (again !== undefined) return within(core, again)
  if (!line.isDue) return undefined
  return createBatch(line.take(service.limit.bytes, service.limit.events), 'line')
}

function isOf413(batch: Batch | undefined): boolean {
  return batch?.ceilingBefore !== undefined
}

function readySuspect({ service, clock }: Core): Batch | undefined {
  const { suspects } = service
  const nowMs = clock.monotonic()
  const index = suspects.findIndex(({ notBeforeMs }) => notBeforeMs <= nowMs)
  return index < 0 ? undefined : suspects.splice(index, 1)[0]
}

/** A batch that is larger than the ceiling goes out in parts. */
function within({ service }: Core, batch: Batch): Batch {
  const { events } = service.ceiling
  if (batch.items.length <= events) return batch
  service.again.unshift(createBatch(batch.items.slice(events), batch.role, batch))
  return createBatch(batch.items.slice(0, events), batch.role, batch)
}

/** The control and the probes: one other event, of those that have failed least; now and then as many as before. */
function other({ service, line }: Core): Batch | undefined {
  const first = line.freshest
  if (first === undefined) return oneOf(service.again) ?? oneOf(service.held) ?? oneOf(service.suspects)
  const isLarge = service.failures >= LARGE_PROBES_FROM && service.isLargeNext
  service.isLargeNext = !service.isLargeNext
  const { events, bytes } = isLarge ? service.limitBefore : { events: 1, bytes: 0 }
  return createBatch(line.take(bytes, events, first), 'line')
}

/** To keep the order, the oldest event is tried again first. */
function oldest({ service, line }: Core): Batch | undefined {
  const held = oneOf(service.held) ?? oneOf(service.again)
  if (held !== undefined) return held
  const items = line.take(0, 1)
  return items.length === 0 ? undefined : createBatch(items, 'line')
}

/** Takes the first event of the first batch. */
function oneOf(batches: Batch[]): Batch | undefined {
  const [batch] = batches
  if (batch === undefined) return undefined
  if (batch.items.length === 1) return batches.shift()
  const [first] = batch.items.splice(0, 1) as [Item]
  return createBatch([first], batch.role, batch)
}

/** Rejects only if the code of this library throws while it handles an error. */
async function attempt(core: Core, request: Request): Promise<void> {
  const { inFlight, service, sender } = core
  const { batch } = request
  const isSuspect = batch.role === 'suspect'
  if (isSuspect) service.suspectsInFlight++
  const mayGo = (): boolean => inFlight.has(request) && request.generation === service.generation
  let finished: Promise<void> | undefined
  try {
    let ending: Ending
    const given = authorization(core)
    // No `await` when the value is at hand, so that the request is sent within this turn.
    const isAtHand = !(given instanceof Promise)
    const header = isAtHand ? given : await given
    if (typeof header !== 'string') {
      ending = header
      const error = header.action === 'unsent' ? header.error : header.toError('retries_exhausted')
      if (error !== undefined) core.monitor.onUnsent(error)
    }
    // While the credentials were fetched, the request was abandoned, or an outage or a rate limit began.
    else if (!isAtHand && !mayGo()) ending = UNSENT
    else {
      const sent = sender.send(batch, header, mayGo)
      finished = sent.finished
      ending = await sent.result
    }
    // An abandoned request has no events any more.
    if (inFlight.has(request)) {
      const isWorse = readShared(core)
      conclude(core, request, ending)
      if (isWorse) tellAwaited(core)
      writeShared(core)
    }
  } catch (error) {
    const cause = describeCause(error)
    core.warnings.tellOnce('delivery_fault', `the delivery was interrupted and goes on: ${cause}`)
    contain(core, request, (code) => new DeliveryError(code, `no attempt could be made: ${cause}`))
  } finally {
    if (isSuspect) service.suspectsInFlight--
  }
  pump(core)
  // The socket may still be busy with the body of the response.
  await finished
  inFlight.delete(request)
  pump(core)
  armInterval(core)
}

/** The `Authorization` header, or what its absence means for the request. */
function authorization({ credentials }: Core): string | Ending | Promise<string | Ending> {
  try {
    const given = typeof credentials === 'string' ? credentials : credentials.authorization()
    return typeof given === 'string' ? given : given.catch(withoutHeader)
  } catch (error) {
    return withoutHeader(error)
  }
}

function withoutHeader(cause: unknown): Ending {
  const error = isInstance(cause, DeliveryError)
    ? cause
    : new DeliveryError('auth', `there are no credentials: ${describeCause(cause)}`, { cause })
  return { action: 'unsent', error }
}

/** Sets one timer for whatever comes first: the gate opens, a suspect may be sent, an event has waited long enough. */
function wakeUp(core: Core): void {
  const { service, clock, line } = core
  const nowMs = clock.monotonic()
  const isWaiting =
    line.readyLength > 0 || service.again.length + service.held.length + service.suspects.length > 0
  let atMs = pendingOf(core.counts) > 0 ? nextExpiryMs(core) : Number.POSITIVE_INFINITY
  const opensMs = opensAtMs(service, isSomebodyWaiting(core))
  if (service.isShut && (service.isProbeOut || opensMs > nowMs)) {
    if (isWaiting && !service.isProbeOut) atMs = Math.min(atMs, opensMs)
  } else
    for (const { notBeforeMs } of service.suspects)
      if (notBeforeMs > nowMs) atMs = Math.min(atMs, notBeforeMs)
  // A timer for the same time is not replaced: with fake timers in a test, the new timer would wait too long.
  if (core.wakeUp?.atMs === atMs) return
  core.wakeUp?.cancel()
  core.wakeUp = undefined
  if (atMs === Number.POSITIVE_INFINITY) return
  const cancel = clock.setTimer(
    () => {
      core.wakeUp = undefined
      pump(core)
      armInterval(core)
    },
    Math.max(0, Math.ceil(atMs - nowMs)),
  )
  core.wakeUp = { atMs, cancel }
}
