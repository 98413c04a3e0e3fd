import type { Clock } from '../clock.ts'
import type { DestinationConfig } from '../config/schema.ts'
import type { BatchSender } from './batch-sender.ts'
import { FileSender } from './file.ts'

export type BatchDestination = Exclude<DestinationConfig, { type: 'webhook' }>

/** Loads the code and the packages for ClickHouse only if they are needed. */
export async function openSender(
  destination: BatchDestination,
  clock: Clock,
  onFault: (cause: unknown) => void,
): Promise<BatchSender> {
  if (destination.type === 'file') return new FileSender(destination.path)
  const { ClickHouseSender } = await import('./clickhouse.ts')
  return new ClickHouseSender(destination, clock, onFault)
}
