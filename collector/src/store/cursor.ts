/** The position at which a list continues: the number of an event or a request. */
export type Cursor = string

/** A position in a list by time, in which several entries may have the same time. */
export function timeCursorOf(timeMs: number, seq: number): Cursor {
  return `${timeMs}.${seq}`
}

export function timeAndSeqOf(cursor: Cursor): { timeMs: number; seq: number } {
  const [timeMs, seq] = cursor.split('.')
  return { timeMs: Number(timeMs), seq: Number(seq ?? 0) }
}

/** Undefined for a text that cannot be the id of an event or a request. */
export function numberOf(id: string): number | undefined {
  return /^[1-9]\d{0,15}$/.test(id) && Number.isSafeInteger(Number(id)) ? Number(id) : undefined
}

export function numbersOf(ids: readonly string[]): number[] {
  return [...new Set(ids.map(numberOf).filter((seq) => seq !== undefined))]
}
