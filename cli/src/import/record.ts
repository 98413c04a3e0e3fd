/** Why a line is not sent. */
export interface Problem {
  /** The kind of problem, by which problems are counted: an error code of the SDK, or the kind of fault in the file. */
  readonly reason: string
  /** The problem in words. */
  readonly message: string
  /** The place in the line: the name of a column or field, or the number of a character. */
  readonly column?: string | number
  /** Number of lines between the first line of the record and the place. Default: 0. */
  readonly linesDown?: number
}

/** One event of the file: a line, an element of a JSON array, or a CSV row. The last two may span several lines. */
export interface SourceRecord {
  /** Number of the record's first line, from 1. */
  readonly line: number
  /** Number of the line at `end`. */
  readonly nextLine: number
  /** Offset of the first byte after the record and its line end, in the unpacked file. */
  readonly end: number
  /** The bytes of the record without the line ending. Empty if the record is over the limit, since its bytes are not kept. */
  readonly bytes: Buffer
  /** The problem, if the record cannot be read at all. */
  readonly problem?: Problem
}

/** A place in the file from which reading can continue. */
export interface Position {
  readonly offset: number
  readonly line: number
}

/** Splits a stream of bytes into records. */
export interface Splitter {
  /** Number of the line to which the next byte belongs. */
  readonly line: number
  /** Why the rest of the stream cannot be split. Earlier records have been returned. */
  readonly failure?: Error | undefined
  /** Adds a chunk, and returns the records that are complete now. Blank lines are not records. */
  push(chunk: Buffer): SourceRecord[]
  /** Ends the stream, and returns the last records. */
  finish(): SourceRecord[]
}

/** Maximum size of one record in bytes. An event may have only 32,768 bytes, but a record may have other fields too. */
export const MAX_RECORD_BYTES = 1_048_576

export const NEWLINE = 0x0a
export const RETURN = 0x0d
export const QUOTE = 0x22

export function tooLong(line: number, limit: number): Problem {
  return { reason: 'too_long', message: `line ${line} has more than ${limit.toLocaleString('en-US')} bytes` }
}

/** Returns `bytes` without a carriage return at the end. */
export function withoutReturn(bytes: Buffer): Buffer {
  return bytes.at(-1) === RETURN ? bytes.subarray(0, -1) : bytes
}

/** Counts how often `byte` occurs in `bytes`. */
export function countBytes(bytes: Buffer, byte: number): number {
  let count = 0
  for (let at = bytes.indexOf(byte); at !== -1; at = bytes.indexOf(byte, at + 1)) count++
  return count
}
