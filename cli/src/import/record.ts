/** Why a line is not sent. */
export interface Problem {
  /** The kind of problem, for counts: a reason of the SDK, or one of the file's. */
  readonly reason: string
  /** For people. */
  readonly message: string
  /** Where in the line: the name of a column or field, or the number of a character. */
  readonly column?: string | number
  /** How many lines below the first one of its record. Default: 0. */
  readonly linesDown?: number
}

/** One event of the file: a line, an element of a JSON array, or a CSV row, which may span several lines. */
export interface SourceRecord {
  /** Number of its first line, from 1. */
  readonly line: number
  /** Number of the line that follows it, when the rest of the file is read on from `end`. */
  readonly nextLine: number
  /** Offset of the first byte behind it, its line end included, in the file as unpacked. */
  readonly end: number
  /** Its bytes without the line end. Empty for one over the limit, which is not kept. */
  readonly bytes: Buffer
  /** The problem of the record as a whole. */
  readonly problem?: Problem
}

/** Where a reader begins. */
export interface Position {
  readonly offset: number
  readonly line: number
}

/** Cuts a stream of bytes into records. */
export interface Splitter {
  /** Number of the line that the next byte belongs to. */
  readonly line: number
  /** Why what follows cannot be cut. What came before it was given out. */
  readonly failure?: Error | undefined
  /** The records that end in what has been read by now. Blank lines are no records. */
  push(chunk: Buffer): SourceRecord[]
  /** The end of the file. */
  finish(): SourceRecord[]
}

/** Most bytes of one record: a whole event may have 32,768. */
export const MAX_RECORD_BYTES = 1_048_576

export const NEWLINE = 0x0a
export const RETURN = 0x0d
export const QUOTE = 0x22

export function tooLong(line: number, limit: number): Problem {
  return { reason: 'too_long', message: `line ${line} has more than ${limit.toLocaleString('en-US')} bytes` }
}

/** `bytes` without a carriage return at its end. */
export function withoutReturn(bytes: Buffer): Buffer {
  return bytes.at(-1) === RETURN ? bytes.subarray(0, -1) : bytes
}

/** How often `byte` is in `bytes`. */
export function countBytes(bytes: Buffer, byte: number): number {
  let count = 0
  for (let at = bytes.indexOf(byte); at !== -1; at = bytes.indexOf(byte, at + 1)) count++
  return count
}
