/** Why a line is not sent. */
export interface Problem {
  /** The kind of problem, for counts: a reason of the SDK, or a problem of the file. */
  readonly reason: string
  /** The problem in words. */
  readonly message: string
  /** The place in the line: the name of a column or field, or the number of a character. */
  readonly column?: string | number
  /** How many lines the place is below the first line of the record. Default: 0. */
  readonly linesDown?: number
}

/** One event of the file: a line, an element of a JSON array, or a CSV row, which may span several lines. */
export interface SourceRecord {
  /** Number of its first line, from 1. */
  readonly line: number
  /** Number of the line at `end`, from where the rest of the file is read. */
  readonly nextLine: number
  /** Offset of the first byte after the record and its line end, in the unpacked file. */
  readonly end: number
  /** Its bytes without the line end. Empty for a record over the limit, which is not kept. */
  readonly bytes: Buffer
  /** The problem of the record as a whole. */
  readonly problem?: Problem
}

/** A place in the file from where to read. */
export interface Position {
  readonly offset: number
  readonly line: number
}

/** Splits a stream of bytes into records. */
export interface Splitter {
  /** Number of the line that the next byte belongs to. */
  readonly line: number
  /** Why the rest cannot be split. Earlier records were returned. */
  readonly failure?: Error | undefined
  /** Adds a chunk, and returns the records that are complete now. Blank lines are not records. */
  push(chunk: Buffer): SourceRecord[]
  /** Ends the file, and returns the last records. */
  finish(): SourceRecord[]
}

/** Maximum bytes of one record. An event may have 32,768. */
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
