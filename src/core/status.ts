import type { Status } from '../client/monitor.ts'
import { isSomebodyWaiting } from './conclude.ts'
import type { Core } from './core.ts'
import { opensAtMs } from './service.ts'

/** The state of a client at this instant. */
export function statusOf(core: Core, url: string): Status {
  const { line, service, inFlight, spool, monitor, clock } = core
  const batches = [...service.again, ...service.held, ...service.suspects]
  const items = batches.flatMap((batch) => batch.items)
  const pausedMs = opensAtMs(service, isSomebodyWaiting(core)) - clock.monotonic()
  return {
    queued: line.readyLength + line.turnLength + items.length + (spool?.length ?? 0),
    queuedBytes: line.readyBytes + line.turnBytes + items.reduce((bytes, item) => bytes + item.bytes, 0),
    inFlight: inFlight.size,
    pausedUntil: service.isShut && pausedMs > 0 ? new Date(clock.now() + pausedMs) : undefined,
    lastError: monitor.lastError,
    lastDeliveredAt: monitor.lastDeliveredAt,
    url,
  }
}
