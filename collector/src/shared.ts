import { ConfigError } from './config/config-error.ts'
import type { SharedLog } from './log/ports.ts'
import type { HealthSource } from './ops/health.ts'
import type { CollectorOptions } from './options.ts'
import type { EventStore } from './store/event-store.ts'

/** The role of a process with a log: a front only writes events to the log, and a worker moves them to the store. */
export type Role = 'front' | 'worker'

export interface Shared {
  log: SharedLog
  role: Role
  /** Whether this process has a store to read from. */
  hasStore: boolean
}

/**
 * Returns undefined if the process has no log.
 *
 * @throws ConfigError when an option is missing for the role.
 */
export function roleOf({
  log,
  work,
  store,
}: CollectorOptions): Pick<Shared, 'role' | 'hasStore'> | undefined {
  const hasStore = store !== undefined
  if (work && log === undefined) throw new ConfigError('work: expected --log nats://<host>, or log in code')
  if (work && !hasStore)
    throw new ConfigError('work: expected --store <address>, or store in code: where events are kept')
  return log === undefined ? undefined : { role: work ? 'worker' : 'front', hasStore }
}

/** With a log, the store is required only in a worker. */
export function healthSources(store: EventStore, shared: Shared | undefined): HealthSource[] {
  const ofStore = { part: 'store' as const, ask: () => store.health() }
  if (shared === undefined) return [{ ...ofStore, isRequired: true }]
  const ofLog = { part: 'log' as const, isRequired: true, ask: async () => [await shared.log.health()] }
  return shared.hasStore ? [ofLog, { ...ofStore, isRequired: shared.role === 'worker' }] : [ofLog]
}
