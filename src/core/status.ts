import type { LastError } from '../events/observer.ts'
import type { Core } from './core.ts'
import { isInDoubt, opensAtMs } from './service.ts'
import { isSomebodyWaiting } from './waiting.ts'

/** The state of a client at this instant: for health checks, dashboards and metrics. */
export interface Status {
  /** Events that wait to be sent or to be sent again, without events in flight and inside plugins. */
  readonly queued: number
  /** Bytes of the JSON of the queued events. */
  readonly queuedBytes: number
  /** Requests under way. A batch that waits for an access token counts as one. */
  readonly inFlight: number
  /** No request is sent before this time, because of an outage or a rate limit; `undefined` when requests are not held back. */
  readonly pausedUntil: Date | undefined
  /** The last error, no matter how long ago; `undefined` when there was none. */
  readonly lastError: LastError | undefined
  /** When the service last accepted a request; `undefined` before the first time. */
  readonly lastDeliveredAt: Date | undefined
  /** The URL to which batches are sent. */
  readonly url: string
}

/** The state of a client at this instant. */
export function statusOf(core: Core): Status {
  const { line, service, inFlight, observer, clock, settings, turn, parts, held } = core
  const waiting = [
    ...turn.filter(({ stored }) => stored !== undefined),
    ...[...parts, ...held].flatMap(({ items }) => items),
  ]
  const pausedMs = opensAtMs(service.gate, isSomebodyWaiting(core)) - clock.monotonic()
  return {
    queued: line.length + waiting.length,
    queuedBytes: line.bytes + waiting.reduce((bytes, item) => bytes + item.bytes, 0),
    inFlight: inFlight.size,
    pausedUntil: isInDoubt(service) && pausedMs > 0 ? new Date(clock.now() + pausedMs) : undefined,
    lastError: observer.lastError,
    lastDeliveredAt: observer.lastDeliveredAt,
    url: settings.host + settings.path,
  }
}
