import type { Delivery } from '../delivery/delivery.ts'
import type { SpoolConnection } from '../line/spool.ts'
import type { Clock } from '../runtime/clock.ts'
import type { LastError, Monitor } from './monitor.ts'

/** How a client is doing at this instant: for health checks, dashboards and metrics. */
export interface Status {
  /** Events that wait to be sent, for the first time or again. Those in flight and inside plugins are not among them. */
  readonly queued: number
  /** Their bytes, as JSON, as far as they wait in memory. */
  readonly queuedBytes: number
  /** Requests under way. A batch that waits for an access token counts as one. */
  readonly inFlight: number
  /** No request is sent before this time, because of an outage or a rate limit; `undefined` when none is held back. */
  readonly pausedUntil: Date | undefined
  /** The last thing that went wrong, however long ago; `undefined` when nothing has. */
  readonly lastError: LastError | undefined
  /** When the service last accepted a request; `undefined` before the first time. */
  readonly lastDeliveredAt: Date | undefined
  /** Where requests go. */
  readonly url: string
}

/** What a status is read from. */
export interface StatusSources {
  readonly spool: SpoolConnection | undefined
  readonly delivery: Delivery
  readonly monitor: Monitor
  readonly clock: Pick<Clock, 'now'>
  readonly url: string
}

export function readStatus({ spool, delivery, monitor, clock, url }: StatusSources): Status {
  const { waiting, pausedMs, inFlight } = delivery
  return {
    queued: waiting.count + (spool?.length ?? 0),
    queuedBytes: waiting.bytes,
    inFlight,
    pausedUntil: pausedMs > 0 ? new Date(clock.now() + pausedMs) : undefined,
    lastError: monitor.lastError,
    lastDeliveredAt: monitor.lastDeliveredAt,
    url,
  }
}
