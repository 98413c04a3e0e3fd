import type { ExactJson } from '../settings/exact-json.ts'

/** Why a line is not delivered. */
export interface Problem {
  /** An error code of the SDK, or a kind of fault in the file. Problems are counted by this text. */
  readonly reason: string
  readonly message: string
  /** The name of a column or field, or the number of a character. */
  readonly column?: string | number
  /** How many lines below the first line of the record the problem is. Default: 0. */
  readonly linesDown?: number
}

/** A line, an element of a JSON array, or a CSV row. The last two may span several lines. */
export interface SourceRecord {
  /** Number of the record's first line, from 1. */
  readonly line: number
  /** Number of the line at `end`. */
  readonly nextLine: number
  /** Offset of the first byte after the record and its line end, in the unpacked file. */
  readonly end: number
  /** Without the line ending. Empty if the record is over the limit. */
  readonly bytes: Buffer
  /** Set if the record cannot be read at all. */
  readonly problem?: Problem
  /** Whether the record begins in a line in which another one ends, so that the line alone does not identify it. */
  readonly isInsideLine?: boolean
}

/** Has either `value` or `problem`. */
export interface ParsedRecord<Value = unknown> {
  readonly record: SourceRecord
  readonly value?: Value
  readonly problem?: Problem
  readonly losses?: ExactJson['losses']
}

/** A place in the file from which reading can continue. */
export interface Position {
  readonly offset: number
  readonly line: number
}

export interface Splitter {
  /** Number of the line to which the next byte belongs. */
  readonly line: number
  /** Why the rest of the stream cannot be split. Earlier records have been returned. */
  readonly failure?: Error | undefined
  /** Returns the records that are complete now. Blank lines are not records. */
  push(chunk: Buffer): SourceRecord[]
  finish(): SourceRecord[]
}

/** An event may have only 32,768 bytes, but a record may have other fields too. */
export const MAX_RECORD_BYTES = 1_048_576

/** Of UTF-8. */
export const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])
export const NEWLINE = 0x0a
export const RETURN = 0x0d
export const QUOTE = 0x22

export function tooLong(line: number): Problem {
  const limit = MAX_RECORD_BYTES.toLocaleString('en-US')
  return { reason: 'too_long', message: `line ${line} has more than ${limit} bytes` }
}
