import { suspect, tellAwaited } from './conclude.ts'
import type { Core } from './core.ts'
import { endTrouble, isInTrouble } from './service.ts'
import { type Known, SHARED_FIELDS } from './shared.ts'

/**
 * Takes over what other clients have learnt.
 *
 * @returns Whether events may have to be told, see {@link tellAwaited}.
 */
export function readShared(core: Core): boolean {
  const { shared, service, line, clock } = core
  if (shared?.known === undefined || core.sharedVersion === shared.version) return false
  const { known } = shared
  core.sharedVersion = shared.version
  if (shared.isAccepted && service.accepted === 0) service.accepted = 1
  const nowMs = clock.monotonic()
  const isUp = known.failures === 0 && !known.isLimited
  const isWorse = known.failures > service.failures
  // Another client has found the service up: what has failed here is under suspicion.
  if (known.failures === 0) for (const batch of service.held.splice(0)) suspect(core, batch)
  if (isUp && isInTrouble(service)) {
    for (const flush of core.flushes) flush.sinceFailures = 0
    endTrouble(service)
  } else if (!isUp) {
    if (known.failures > 0) service.outageDeadline.begin(line.dueOrder, nowMs)
    if (known.isLimited) service.limitDeadline.begin(line.dueOrder, nowMs)
  }
  if (known.isShut !== service.isShut || known.shutAtMs !== service.shutAtMs) {
    service.generation++
    service.isProbeOut = false
  }
  Object.assign(service, known)
  return isWorse
}

/** Lets the other clients know what a response has changed. */
export function writeShared(core: Core): void {
  const { shared, service } = core
  if (shared === undefined) return
  shared.isAccepted ||= service.accepted > 0
  const { known } = shared
  if (known !== undefined && SHARED_FIELDS.every((name) => known[name] === service[name])) return
  shared.known = Object.fromEntries(SHARED_FIELDS.map((name) => [name, service[name]])) as unknown as Known
  core.sharedVersion = ++shared.version
}

/** Before a request: takes over what other clients have learnt, and tells those who have waited long enough. */
export function catchUp(core: Core): void {
  if (readShared(core)) tellAwaited(core)
}

/** The failures in a row that the clients know of. */
export function knownFailures({ shared, service }: Core): number {
  return shared?.known?.failures ?? service.failures
}
