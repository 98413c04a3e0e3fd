import pg from 'pg'
import { expect, onTestFinished } from 'vitest'
import type { StoreListener } from '../../../collector/src/store/event-store.ts'
import { systemClock } from '../../../collector/src/system-clock.ts'
import { PostgresStore, type PostgresStoreOptions } from '../../src/postgres/postgres-store.ts'

export async function openPostgres(
  address: string,
  options: Partial<PostgresStoreOptions> & { listener?: Partial<StoreListener> } = {},
): Promise<{ store: PostgresStore; faults: string[] }> {
  const faults: string[] = []
  const { listener = {}, ...rest } = options
  const store = await PostgresStore.open({
    address,
    retentionDays: 30,
    clock: systemClock,
    onFault: (what, cause) => faults.push(`${what}: ${(cause as Error).message}`),
    ...rest,
  })
  onTestFinished(() => store.close())
  store.start({ committed() {}, cleared() {}, changed() {}, ...listener })
  return { store, faults }
}

export async function connect(address: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: address })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

/** The rows of a statement, with `bigint` as text. */
export async function rowsOf(client: pg.Client, text: string, values: unknown[] = []): Promise<unknown[][]> {
  return (await client.query({ text, values, rowMode: 'array' })).rows
}

/** Resolves when this many connections to this database wait for a lock. */
export async function untilWaiting(address: string, connections = 1): Promise<void> {
  // The query runs outside a transaction: in a transaction, it would see the same state each time.
  const client = await connect(address)
  const waiting =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
  await expect.poll(() => rowsOf(client, waiting)).toEqual([[String(connections)]])
}
