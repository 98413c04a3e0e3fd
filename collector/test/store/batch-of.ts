import type { NewEvent, NewRequest } from '../../src/store/ports.ts'
import type { Batch } from '../../src/store/writing/batch.ts'

export function batchOf(events: readonly NewEvent[], requests: readonly NewRequest[] = []): Batch {
  return { groups: [{ key: 'any', events }], requests, isOnce: false }
}
