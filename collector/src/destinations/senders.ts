import type { BatchSender } from '../batch-sender.ts'
import type { Clock } from '../clock.ts'
import { loadCluster } from '../cluster.ts'
import type { DestinationConfig } from '../config/schema.ts'
import { FileSender } from './file.ts'

export type BatchDestination = Exclude<DestinationConfig, { type: 'webhook' }>

export async function newSender(
  destination: BatchDestination,
  clock: Clock,
  onFault: (cause: unknown) => void,
): Promise<BatchSender> {
  if (destination.type === 'file') return new FileSender(destination.path)
  const { openSender } = await loadCluster('a ClickHouse destination')
  return openSender(destination, clock, onFault)
}
