import {
  AddressError,
  ConfigError,
  type EventStore,
  NewerStoreError,
  type StoreParts,
  StoreUnavailableError,
  shownAddress,
} from 'trackpost-collector/ports'
import { withoutPassword } from './address.ts'
import { adviceOn, isTransient, messageOf } from './errors.ts'
import { NewerTables } from './migrations.ts'
import { checkParameters } from './parameters.ts'
import { PostgresStore } from './postgres-store.ts'

const DEFAULT_RETENTION_DAYS = 30

/**
 * Opens the store at `postgres://user:password@host:port/database`.
 *
 * @throws StoreUnavailableError when the database server is unavailable, or a newer collector has migrated the tables;
 * ConfigError when the store cannot be opened for any other reason.
 */
export async function openStore(address: string, parts: StoreParts): Promise<EventStore> {
  const { config, clock, plan, onFault, signal } = parts
  const { dedupWindow, maxEvents, retentionDays } = config
  let shown: string
  try {
    shown = shownAddress(address)
    checkParameters(address)
  } catch (cause) {
    if (cause instanceof AddressError) throw new ConfigError(`store: ${cause.message}`)
    throw cause
  }
  try {
    return await PostgresStore.open({
      address,
      clock,
      signal,
      onFault,
      plan: plan?.plan ?? null,
      dedupWindowMs: dedupWindow === undefined ? undefined : dedupWindow * 1000,
      maxEvents,
      retentionDays: retentionDays ?? DEFAULT_RETENTION_DAYS,
    })
  } catch (cause) {
    const message = `store: ${shown} cannot be opened (${withoutPassword(messageOf(cause), address)})${adviceOn(cause)}`
    if (cause instanceof NewerTables) throw new NewerStoreError(message)
    throw isTransient(cause) ? new StoreUnavailableError(message) : new ConfigError(message)
  }
}
