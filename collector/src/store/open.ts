import { basename } from 'node:path'
import type { Clock } from '../clock.ts'
import { ConfigError } from '../config/config-error.ts'
import type { Config } from '../config/schema.ts'
import { limited } from '../limited.ts'
import type { LoadedPlan } from '../plan/plan.ts'
import { AddressError, isForeign, isPostgres, shownAddress, withoutPassword } from './address.ts'
import type { EventStore } from './event-store.ts'
import { LateStore } from './late-store.ts'
import { SqliteStore } from './sqlite/sqlite-store.ts'
import { NewerStoreError, StoreUnavailableError } from './unavailable.ts'

/** The address of a store that lives in memory and ends with the process. */
export const MEMORY = ':memory:'

/** Events that are kept in a file, unless the config says otherwise. */
const DEFAULT_MAX_EVENTS = 10_000_000
/** Days for which events are kept in PostgreSQL, unless the config says otherwise. */
const DEFAULT_RETENTION_DAYS = 30

/** Milliseconds for which a process that can work without a store waits for it at the start. */
const PATIENCE_MS = 5000

/** Options of a store. */
export interface StoreParts {
  config: Config
  clock: Clock
  plan: LoadedPlan | null
  /** Ends the wait for another process that creates or migrates the tables. */
  signal?: AbortSignal
  onFault(what: string, cause: unknown): void
}

/**
 * Opens the store of an address: the path of a file, `:memory:`, or `postgres://user:password@host:port/database`.
 *
 * @throws StoreUnavailableError when its server does not respond, or a newer collector has migrated its tables; ConfigError
 * when it cannot be opened for any other reason.
 */
export async function openStore(address: string, parts: StoreParts): Promise<EventStore> {
  if (isPostgres(address)) return openPostgres(address, parts)
  if (isForeign(address)) {
    throw new ConfigError('store: expected the path of a file, :memory: or postgres://<host>/<database>')
  }
  const { config, ...rest } = parts
  try {
    return new SqliteStore({
      ...rest,
      path: address,
      durability: config.durability,
      dedupWindowMs: dedupWindowMs(config),
      maxEvents: config.maxEvents ?? DEFAULT_MAX_EVENTS,
      retentionDays: config.retentionDays,
      maxBytes: config.maxDatabaseBytes,
    })
  } catch (cause) {
    const { message } = cause as Error
    // SQLite gives this reason only as a number.
    const reason = /: 14"\)$/.test(message)
      ? 'it is a folder, its folder does not exist, or this user may not write to it'
      : message
    throw new ConfigError(`store: ${address} cannot be opened (${reason})`)
  }
}

/**
 * Opens a store for a process that works with a log. If the store is unavailable or another process migrates its tables, it is
 * opened later. If its tables have a newer version, it is never opened: a process that does not have to write works without the
 * store until a newer collector replaces the process.
 *
 * @throws StoreUnavailableError when the process has to write into tables of a newer version; ConfigError when it cannot be
 * opened for any other reason.
 */
export async function openStoreOrRetry(
  address: string,
  parts: StoreParts,
  hasToWrite: boolean,
): Promise<EventStore> {
  const { clock, onFault } = parts
  const closing = new AbortController()
  const open = () => openStore(address, { ...parts, signal: closing.signal })
  const late = { open, giveUp: () => closing.abort(), clock, onFault }
  const report = (cause: Error) =>
    onFault('the store is unavailable, and is opened when it is reachable', cause)
  const begun = open()
  try {
    const store = await limited<EventStore | undefined>(begun, PATIENCE_MS, clock, () => undefined)
    if (store !== undefined) return store
  } catch (cause) {
    if (!(cause instanceof StoreUnavailableError) || (hasToWrite && cause instanceof NewerStoreError))
      throw cause
    report(cause)
    return new LateStore(cause.message, late)
  }
  const reason = 'store: it is not open yet: its server is slow, or its tables are being migrated'
  report(new Error(reason))
  return new LateStore(reason, { ...late, begun })
}

/** Imports the PostgreSQL store only when it is opened: a collector on a file does not need the PostgreSQL client. */
async function openPostgres(address: string, parts: StoreParts): Promise<EventStore> {
  const { config, clock, plan, onFault, signal } = parts
  let shown: string
  try {
    shown = shownAddress(address)
    const { checkParameters } = await import('./postgres/parameters.ts')
    checkParameters(address)
  } catch (cause) {
    if (cause instanceof AddressError) throw new ConfigError(`store: ${cause.message}`)
    throw cause
  }
  const [{ PostgresStore }, { NewerTables }, { adviceOn, isTransient, messageOf }] = await Promise.all([
    import('./postgres/postgres-store.ts'),
    import('./postgres/migrations.ts'),
    import('./postgres/errors.ts'),
  ])
  try {
    return await PostgresStore.open({
      address,
      clock,
      signal,
      onFault,
      plan: plan?.plan ?? null,
      dedupWindowMs: dedupWindowMs(config),
      maxEvents: config.maxEvents,
      retentionDays: config.retentionDays ?? DEFAULT_RETENTION_DAYS,
    })
  } catch (cause) {
    const message = `store: ${shown} cannot be opened (${withoutPassword(messageOf(cause), address)})${adviceOn(cause)}`
    if (cause instanceof NewerTables) throw new NewerStoreError(message)
    throw isTransient(cause) ? new StoreUnavailableError(message) : new ConfigError(message)
  }
}

function dedupWindowMs({ dedupWindow }: Config): number | undefined {
  return dedupWindow === undefined ? undefined : dedupWindow * 1000
}

/** The maximum number of events in a store; null = only their age is limited. */
export function maxEventsOf(address: string, { maxEvents }: Config): number | null {
  return maxEvents ?? (isPostgres(address) ? null : DEFAULT_MAX_EVENTS)
}

/** The name of a store for public places: without folder, user and password. */
export function storeName(address: string): string {
  if (isPostgres(address)) return shownAddress(address)
  return address === MEMORY ? MEMORY : basename(address)
}
