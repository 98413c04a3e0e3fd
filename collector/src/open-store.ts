import { basename } from 'node:path'
import { loadCluster } from './cluster.ts'
import { ConfigError } from './config/config-error.ts'
import type { Config } from './config/schema.ts'
import type { StoreParts } from './drivers.ts'
import { limited } from './limited.ts'
import { AddressError, isForeign, isPostgres, shownAddress } from './store/address.ts'
import type { EventStore } from './store/event-store.ts'
import { LateStore } from './store/late-store.ts'
import { SqliteStore } from './store/sqlite/sqlite-store.ts'
import { NewerStoreError, StoreUnavailableError } from './store/unavailable.ts'

export const MEMORY = ':memory:'

/** The default for SQLite. */
const DEFAULT_MAX_EVENTS = 10_000_000

/** How long the start waits for the store if the process can work without a store. */
const PATIENCE_MS = 5000

/**
 * Opens the store at an address: the path of a file, `:memory:`, or `postgres://user:password@host:port/database`.
 *
 * @throws StoreUnavailableError when the database server is unavailable, or a newer collector has migrated the tables;
 * ConfigError when the store cannot be opened for any other reason.
 */
export async function openStore(address: string, parts: StoreParts): Promise<EventStore> {
  if (isPostgres(address)) return openElsewhere(address, parts)
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
    // 14 is SQLITE_CANTOPEN; the message has no other explanation.
    const reason = /: 14"\)$/.test(message)
      ? 'it is a folder, its folder does not exist, or this user may not write to it'
      : message
    throw new ConfigError(`store: ${address} cannot be opened (${reason})`)
  }
}

/**
 * Opens a store for a process that uses a log (`SharedLog`). If the store is not open after `PATIENCE_MS`, the process starts
 * without it, and the store is opened later. If the tables have a newer version, only a process that does not have to write can
 * start, and its store stays unavailable.
 *
 * @throws StoreUnavailableError when the tables have a newer version and the process has to write; ConfigError when the store
 *   cannot be opened for any other reason.
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

async function openElsewhere(address: string, parts: StoreParts): Promise<EventStore> {
  try {
    shownAddress(address)
  } catch (cause) {
    if (cause instanceof AddressError) throw new ConfigError(`store: ${cause.message}`)
    throw cause
  }
  return (await loadCluster('a store on PostgreSQL')).openStore(address, parts)
}

function dedupWindowMs({ dedupWindow }: Config): number | undefined {
  return dedupWindow === undefined ? undefined : dedupWindow * 1000
}

/** Null = events are deleted only by age. */
export function maxEventsOf(address: string, { maxEvents }: Config): number | null {
  return maxEvents ?? (isPostgres(address) ? null : DEFAULT_MAX_EVENTS)
}

/** May be shown to anyone: without folder, user and password. */
export function storeName(address: string): string {
  if (isPostgres(address)) return shownAddress(address)
  return address === MEMORY ? MEMORY : basename(address)
}
