import type { Clock } from '../clock.ts'
import { ConfigError } from '../config/config-error.ts'
import type { Config } from '../config/schema.ts'
import type { LoadedPlan } from '../plan/plan.ts'
import type { EventStore } from './event-store.ts'
import { SqliteStore } from './sqlite/sqlite-store.ts'

/** The address of a store that lives in memory and ends with the process. */
export const MEMORY = ':memory:'

/** What a store is opened with. */
export interface StoreParts {
  config: Config
  clock: Clock
  plan: LoadedPlan | null
  onFault(what: string, cause: unknown): void
}

/**
 * Opens the store of an address: the path of a file, or `:memory:`.
 *
 * @throws ConfigError when it cannot be opened.
 */
export async function openStore(address: string, parts: StoreParts): Promise<EventStore> {
  const { config, ...rest } = parts
  try {
    return new SqliteStore({
      ...rest,
      path: address,
      durability: config.durability,
      dedupWindowMs: config.dedupWindow === undefined ? undefined : config.dedupWindow * 1000,
      maxEvents: config.maxEvents,
      maxBytes: config.maxDatabaseBytes,
    })
  } catch (cause) {
    throw new ConfigError(`database: ${address} cannot be opened (${(cause as Error).message})`)
  }
}
