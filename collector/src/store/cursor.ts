import { CursorError, type CursorOrSeq } from './event-reader.ts'
import type { Cursor } from './ports.ts'

/** Encoded, so that clients do not do arithmetic with cursors. */
export function cursorOf(seq: number): Cursor {
  return Buffer.from(`1:${seq}`).toString('base64url')
}

/** @throws CursorError for a text that `cursorOf` cannot have returned. */
function seqOf(cursor: CursorOrSeq): number {
  if (typeof cursor === 'number') return cursor
  const match = /^1:(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())
  // The comparison refuses other texts that base64url decodes to the same bytes.
  if (match === null || cursorOf(Number(match[1])) !== cursor) throw new CursorError(cursor)
  return Number(match[1])
}

/** Undefined for a text that cannot be the id of an event or a request. */
export function numberOf(id: string): number | undefined {
  return /^[1-9]\d{0,15}$/.test(id) && Number.isSafeInteger(Number(id)) ? Number(id) : undefined
}

interface Limits {
  after?: CursorOrSeq | undefined
  before?: CursorOrSeq | undefined
  cursor?: Cursor | undefined
  between?: { afterSeq: number; beforeSeq: number }
  order?: 'oldest' | 'newest'
}

/** Parameters of a query, with sequence numbers instead of cursors. */
export type InNumbers<P> = Omit<P, 'after' | 'before' | 'cursor' | 'between'> & {
  after?: number | undefined
  before?: number | undefined
}

/**
 * Combines all limits into the sequence numbers `after` and `before`. Without `order`, newest first is assumed.
 *
 * @throws CursorError when a cursor is invalid.
 */
export function inNumbers<P extends object>(parameters: P): InNumbers<P> {
  const { after, before, cursor, between, ...rest } = parameters as P & Limits
  const lows: number[] = []
  const highs: number[] = []
  if (after !== undefined) lows.push(seqOf(after))
  if (before !== undefined) highs.push(seqOf(before))
  if (cursor !== undefined) (rest.order === 'oldest' ? lows : highs).push(seqOf(cursor))
  if (between !== undefined) {
    lows.push(between.afterSeq)
    highs.push(between.beforeSeq)
  }
  return {
    ...rest,
    after: lows.length === 0 ? undefined : Math.max(...lows),
    before: highs.length === 0 ? undefined : Math.min(...highs),
  } as InNumbers<P>
}
