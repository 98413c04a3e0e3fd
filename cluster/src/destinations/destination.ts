import type { StreamEvent } from '../stream/message.ts'

/**
 * What became of one event: `written` for good, `refused` for good because of its data, or `failed` for now.
 */
export type Outcome = { result: 'written' } | { result: 'refused' | 'failed'; reason: string }

export const WRITTEN: Outcome = { result: 'written' }

/** Where the events of the stream go. It may get an event more than once. */
export interface Destination {
  /** Events of one batch. */
  readonly batchSize: number
  /**
   * Resolves with the outcome of each event, in order.
   *
   * @throws when the destination takes nothing now, for example because it is unavailable or its table has other columns.
   */
  write(events: readonly StreamEvent[]): Promise<Outcome[]>
  close(): Promise<void>
}

/** The data of at least one event were refused. Without that event, the others may be taken. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
}

/**
 * Writes all items at once. If they are refused, halves them until the item that caused it is alone.
 *
 * @param write Rejects with a `RefusedError`, or with another error when nothing can be written now.
 */
export async function writeHalving<Item>(
  items: readonly Item[],
  write: (items: readonly Item[]) => Promise<void>,
): Promise<Outcome[]> {
  if (items.length === 0) return []
  try {
    await write(items)
    return items.map(() => WRITTEN)
  } catch (cause) {
    if (!(cause instanceof RefusedError)) throw cause
    if (items.length === 1) return [{ result: 'refused', reason: cause.message }]
    const middle = Math.ceil(items.length / 2)
    const first = await writeHalving(items.slice(0, middle), write)
    return [...first, ...(await writeHalving(items.slice(middle), write))]
  }
}
