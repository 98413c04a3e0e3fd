import { RawLines, toRecord, withoutLineEnd } from './lines.ts'
import {
  MAX_RECORD_BYTES,
  NEWLINE,
  type Position,
  QUOTE,
  type SourceRecord,
  type Splitter,
} from './record.ts'

/** How a CSV file is written. */
export interface CsvDialect {
  readonly delimiter: string
  /** Whether spaces after a delimiter are no part of the next field. */
  readonly isSpaced: boolean
}

const SPACE = 0x20

/**
 * Joins the lines of quoted fields to rows; csv-parse parses their fields later. If the quotes of a row are broken, only one
 * line is lost, because the next line starts a new row. A full CSV parser would search the rest of the file for the missing quote.
 */
export class CsvRowSplitter implements Splitter {
  readonly #lines: RawLines
  readonly #delimiter: number
  readonly #isSpaced: boolean
  /** The lines of a row whose last field is still open. */
  #open: SourceRecord[] = []
  #openBytes = 0

  constructor(start: Position, { delimiter, isSpaced }: CsvDialect, newline = NEWLINE) {
    this.#lines = new RawLines(start, newline)
    this.#delimiter = delimiter.charCodeAt(0)
    this.#isSpaced = isSpaced
  }

  get line(): number {
    return this.#lines.line
  }

  push(chunk: Buffer): SourceRecord[] {
    return this.#take(this.#lines.push(chunk), false)
  }

  finish(): SourceRecord[] {
    return this.#take(this.#lines.finish(), true)
  }

  #take(lines: readonly SourceRecord[], isEnd: boolean): SourceRecord[] {
    const records: SourceRecord[] = []
    const todo = [...lines].reverse()
    for (;;) {
      const line = todo.pop()
      const isInside = this.#open.length > 0
      if (line === undefined) {
        if (!isEnd || !isInside) return records
        this.#giveUp(todo, records)
        continue
      }
      const state = line.problem !== undefined ? 'broken' : this.#read(line.bytes, isInside)
      this.#openBytes += line.bytes.length
      if (state === 'whole') records.push(...this.#close(line))
      else {
        this.#open.push(line)
        if (state === 'broken' || this.#openBytes > MAX_RECORD_BYTES) this.#giveUp(todo, records)
      }
    }
  }

  #close(last: SourceRecord): SourceRecord[] {
    const [first] = this.#open
    this.#openBytes = 0
    if (first === undefined) return toRecord(last)
    const bytes = Buffer.concat([...this.#open, last].map((line) => line.bytes))
    this.#open = []
    return toRecord({ ...last, line: first.line, bytes })
  }

  /** The first of the open lines is broken. The others are read again. */
  #giveUp(todo: SourceRecord[], records: SourceRecord[]): void {
    const [first, ...others] = this.#open as [SourceRecord, ...SourceRecord[]]
    this.#open = []
    this.#openBytes = 0
    records.push(first.problem === undefined ? broken(first) : first)
    todo.push(...others.reverse())
  }

  /** Reads a line that begins at the start of a row, or inside quotes. */
  #read(line: Buffer, isInside: boolean): 'whole' | 'open' | 'broken' {
    let at = line.indexOf(QUOTE)
    // Fast path: most rows have no quotes.
    if (at === -1) return isInside ? 'open' : 'whole'
    if (!isInside) at = 0
    for (let isQuoted = isInside; ; isQuoted = false) {
      if (!isQuoted) {
        while (this.#isSpaced && line[at] === SPACE) at++
        if (line[at] !== QUOTE) {
          at = line.indexOf(this.#delimiter, at) + 1
          if (at === 0) return 'whole'
          continue
        }
        at++
      }
      for (at = line.indexOf(QUOTE, at); at !== -1 && line[at + 1] === QUOTE; )
        at = line.indexOf(QUOTE, at + 2)
      if (at === -1) return 'open'
      at++
      if (at >= withoutLineEnd(line).length) return 'whole'
      if (line[at] !== this.#delimiter) return 'broken'
      at++
    }
  }
}

function broken(line: SourceRecord): SourceRecord {
  const bytes = withoutLineEnd(line.bytes)
  const hint = bytes.includes('\\"') ? '; inside quotes, a quote is written twice, not as \\"' : ''
  const message = `a quoted field has no closing quote, or text after its closing quote${hint}`
  return { ...line, bytes, problem: { reason: 'invalid_csv', message } }
}
