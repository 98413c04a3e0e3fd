import { readFileSync } from 'node:fs'
import type {
  BatchSender,
  ClickHouseConfig,
  Clock,
  EventStore,
  LogParts,
  SharedLog,
  StoreParts,
} from 'trackpost-collector/ports'

/** The version of this package. `package.json` is one folder above this module, both in `src` and in the build. */
export const version: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version

// Each driver is loaded only when it is needed: a process uses one or two of the three servers.

/** Opens a store on PostgreSQL. */
export async function openStore(address: string, parts: StoreParts): Promise<EventStore> {
  return (await import('./postgres/open.ts')).openStore(address, parts)
}

/** Opens a log on NATS JetStream. */
export async function openLog(address: string, parts: LogParts): Promise<SharedLog> {
  return (await import('./nats/open.ts')).openLog(address, parts)
}

/** Opens a destination that inserts events into a ClickHouse table. */
export async function openSender(
  destination: ClickHouseConfig,
  clock: Clock,
  onFault: (cause: unknown) => void,
): Promise<BatchSender> {
  const { ClickHouseSender } = await import('./clickhouse/sender.ts')
  return new ClickHouseSender(destination, clock, onFault)
}
