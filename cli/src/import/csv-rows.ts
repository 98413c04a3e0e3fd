import { isBlank } from './lines.ts'
import {
  countBytes,
  MAX_RECORD_BYTES,
  NEWLINE,
  type Position,
  type Problem,
  QUOTE,
  RETURN,
  type SourceRecord,
  type Splitter,
  tooLong,
  withoutReturn,
} from './record.ts'

/** An index; `more` if more bytes have to be read; `broken` if the quotes of the row are broken. */
type RowEnd = number | 'more' | 'broken'

const BROKEN_QUOTE: Problem = {
  reason: 'invalid_csv',
  message: 'a quoted field has no closing quote, or text after its closing quote',
}

/**
 * Splits CSV into rows; csv-parse parses their fields later. If the quotes of a row are broken, only one line is lost, because
 * the next line starts a new row. A full CSV parser would search the rest of the file for the missing quote.
 */
export class CsvRowSplitter implements Splitter {
  readonly #delimiter: number
  readonly #limit: number
  #offset: number
  #line: number
  /** Bytes that have not been split into rows yet. */
  #rest: Buffer = Buffer.alloc(0)
  #isFinished = false
  /** Whether the splitter is inside a line that is longer than the limit. */
  #isSkipping = false

  constructor({ offset, line }: Position, delimiter: string, limit = MAX_RECORD_BYTES) {
    this.#offset = offset
    this.#line = line
    this.#delimiter = delimiter.charCodeAt(0)
    this.#limit = limit
  }

  get line(): number {
    return this.#line
  }

  push(chunk: Buffer): SourceRecord[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    return this.#cut()
  }

  finish(): SourceRecord[] {
    this.#isFinished = true
    const records = this.#cut()
    if (this.#isSkipping) this.#skip(0, true, records)
    return records
  }

  #cut(): SourceRecord[] {
    const records: SourceRecord[] = []
    let start = 0
    while (start < this.#rest.length) {
      const length = this.#cutOne(this.#rest.subarray(start), records)
      if (length === 0) break
      start += length
    }
    this.#rest = this.#rest.subarray(start)
    return records
  }

  /** Returns the length of the row in bytes, or 0 if more bytes have to be read first. */
  #cutOne(rest: Buffer, records: SourceRecord[]): number {
    const newline = rest.indexOf(NEWLINE)
    if (this.#isSkipping)
      return this.#skip(newline === -1 ? rest.length : newline + 1, newline !== -1, records)
    let end = this.#findEnd(rest, newline)
    if (end === 'more' && rest.length > this.#limit) end = 'broken'
    if (end === 'more') return 0
    const isBroken = end === 'broken'
    if (end === 'broken') {
      if (newline === -1 && !this.#isFinished) {
        if (rest.length <= this.#limit) return 0
        this.#isSkipping = true
        return this.#skip(rest.length, false, records)
      }
      end = newline === -1 ? rest.length : newline + 1
    }
    const row = rest.subarray(0, end)
    const isTooLong = row.length > this.#limit
    const problem = isTooLong ? tooLong(this.#line, this.#limit) : isBroken ? BROKEN_QUOTE : undefined
    this.#add(row, isTooLong ? Buffer.alloc(0) : row, problem, records)
    return end
  }

  #skip(length: number, isEnd: boolean, records: SourceRecord[]): number {
    if (!isEnd && !this.#isFinished) {
      this.#offset += length
      return length
    }
    this.#isSkipping = false
    const empty = Buffer.alloc(0)
    this.#offset += length
    const line = this.#line++
    records.push({
      line,
      nextLine: line + 1,
      end: this.#offset,
      bytes: empty,
      problem: tooLong(line, this.#limit),
    })
    return length
  }

  #add(row: Buffer, kept: Buffer, problem: Problem | undefined, records: SourceRecord[]): void {
    const line = this.#line
    this.#line += Math.max(1, countBytes(row, NEWLINE))
    this.#offset += row.length
    const bytes = withoutReturn(kept.at(-1) === NEWLINE ? kept.subarray(0, -1) : kept)
    if (problem === undefined && isBlank(bytes)) return
    const place = { line, nextLine: this.#line, end: this.#offset, bytes }
    records.push(problem === undefined ? place : { ...place, problem })
  }

  #findEnd(rest: Buffer, newline: number): RowEnd {
    const quote = rest.indexOf(QUOTE)
    // Fast path: most rows have no quotes.
    if (newline !== -1 && (quote === -1 || quote > newline)) return newline + 1
    let at = 0
    for (;;) {
      const field = this.#findFieldEnd(rest, at)
      if (typeof field === 'string') return field
      if (field >= rest.length) return this.#isFinished ? rest.length : 'more'
      if (rest[field] === NEWLINE) return field + 1
      at = field + 1
    }
  }

  /** The index of the delimiter or line end after the field that begins at `start`. */
  #findFieldEnd(rest: Buffer, start: number): RowEnd {
    let at = start
    if (rest[at] === QUOTE) {
      for (at++; ; at += 2) {
        at = rest.indexOf(QUOTE, at)
        if (at === -1) return this.#isFinished ? 'broken' : 'more'
        if (rest[at + 1] !== QUOTE) break
      }
      at++
      if (rest[at] === RETURN) at++
      if (at >= rest.length || rest[at] === NEWLINE) return at
      return rest[at] === this.#delimiter && rest[at - 1] !== RETURN ? at : 'broken'
    }
    while (at < rest.length && rest[at] !== this.#delimiter && rest[at] !== NEWLINE) at++
    return at
  }
}
