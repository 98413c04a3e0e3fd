/** The position at which a list continues. Opaque for clients. */
export type Cursor = string
export type CursorOrSeq = Cursor | number

/** The store cannot have issued this cursor. */
export class CursorError extends Error {
  override readonly name = 'CursorError'
  readonly cursor: string

  constructor(cursor: string) {
    super('expected a cursor')
    this.cursor = cursor
  }
}

/** Encoded, so that clients do not do arithmetic with cursors. */
export function cursorOf(seq: number): Cursor {
  return Buffer.from(`1:${seq}`).toString('base64url')
}

/** @throws CursorError for a text that `cursorOf` cannot have returned. */
export function seqOf(cursor: CursorOrSeq): number {
  if (typeof cursor === 'number') return cursor
  const match = /^1:(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())
  // The comparison refuses other texts that base64url decodes to the same bytes.
  if (match === null || cursorOf(Number(match[1])) !== cursor) throw new CursorError(cursor)
  return Number(match[1])
}

/** A position in a list by time, in which several entries may have the same time. */
export function timeCursorOf(timeMs: number, seq: number): Cursor {
  return Buffer.from(`2:${timeMs}:${seq}`).toString('base64url')
}

/** @throws CursorError for a text that `timeCursorOf` cannot have returned. */
export function timeAndSeqOf(cursor: Cursor): { timeMs: number; seq: number } {
  const match = /^2:(-?\d{1,16}):(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (match === null) throw new CursorError(cursor)
  return { timeMs: Number(match[1]), seq: Number(match[2]) }
}

/** Undefined for a text that cannot be the id of an event or a request. */
export function numberOf(id: string): number | undefined {
  return /^[1-9]\d{0,15}$/.test(id) && Number.isSafeInteger(Number(id)) ? Number(id) : undefined
}

export function numbersOf(ids: readonly string[]): number[] {
  return [...new Set(ids.map(numberOf).filter((seq) => seq !== undefined))]
}
