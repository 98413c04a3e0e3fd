import { ConfigError } from './config/config-error.ts'
import type { LogConsumer, LogConsumerParts } from './log/log-consumer.ts'
import type { SharedLog } from './log/ports.ts'
import type { HealthSource } from './ops/health.ts'
import type { CollectorOptions } from './options.ts'
import type { EventStore } from './store/event-store.ts'

/** The part that a process has beside a log. */
export type Role = 'front' | 'worker'

/** The log that a process has in common with others, and its part beside it. */
export interface Shared {
  log: SharedLog
  role: Role
  /** Whether there is a store to read from; a front needs none. */
  hasStore: boolean
  /** Given by what loads the log: nothing of it is loaded without one. */
  newLogConsumer(parts: LogConsumerParts): LogConsumer
}

/**
 * The part of a process by its options; undefined = one that needs nobody else.
 *
 * @throws ConfigError when something is missing for it.
 */
export function roleOf({
  log,
  work,
  store,
  database,
}: CollectorOptions): Pick<Shared, 'role' | 'hasStore'> | undefined {
  const hasStore = store !== undefined || database !== undefined
  if (work && log === undefined) throw new ConfigError('work: expected --log nats://<host> (log)')
  if (work && !hasStore)
    throw new ConfigError('work: expected --store <address> (store): where events are kept')
  return log === undefined ? undefined : { role: work ? 'worker' : 'front', hasStore }
}

/** The parts that a process cannot work without: the one that takes events, and for a worker also the store. */
export function healthSources(store: EventStore, shared: Shared | undefined): HealthSource[] {
  const ofStore = { part: 'store' as const, ask: () => store.health() }
  if (shared === undefined) return [{ ...ofStore, isRequired: true }]
  const ofLog = { part: 'log' as const, isRequired: true, ask: async () => [await shared.log.health()] }
  return shared.hasStore ? [ofLog, { ...ofStore, isRequired: shared.role === 'worker' }] : [ofLog]
}
