import {
  MAX_RECORD_BYTES,
  NEWLINE,
  type Position,
  RETURN,
  type SourceRecord,
  type Splitter,
  tooLong,
} from './record.ts'

/** The bytes of a line with its line end; none if it is over the limit. */
export type RawLine = SourceRecord & { readonly isTooLong: boolean }

/** Cuts a stream after each line end. Keeps at most one line of `limit` bytes in memory. */
export class RawLines {
  readonly #limit: number
  readonly #newline: number
  #offset: number
  #line: number
  /** The beginning of a line whose end has not been read yet. */
  #parts: Buffer[] = []
  #partBytes = 0

  /** @param newline The last byte of a line end. */
  constructor({ offset, line }: Position, limit = MAX_RECORD_BYTES, newline = NEWLINE) {
    this.#offset = offset
    this.#line = line
    this.#limit = limit
    this.#newline = newline
  }

  /** Number of the line to which the next byte belongs. */
  get line(): number {
    return this.#line
  }

  push(chunk: Buffer): RawLine[] {
    const lines: RawLine[] = []
    let start = 0
    for (let end = chunk.indexOf(this.#newline); end !== -1; end = chunk.indexOf(this.#newline, start)) {
      this.#keep(chunk.subarray(start, end + 1))
      lines.push(this.#endLine())
      start = end + 1
    }
    this.#keep(chunk.subarray(start))
    return lines
  }

  finish(): RawLine[] {
    return this.#partBytes > 0 ? [this.#endLine()] : []
  }

  #keep(part: Buffer): void {
    this.#partBytes += part.length
    this.#offset += part.length
    // The line end, which may have two bytes, does not count.
    if (this.#partBytes > this.#limit + 2) this.#parts = []
    else if (part.length > 0) this.#parts.push(part)
  }

  #endLine(): RawLine {
    const line = this.#line++
    const all = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts)
    const isTooLong = this.#partBytes > this.#limit + 2 || withoutLineEnd(all).length > this.#limit
    this.#parts = []
    this.#partBytes = 0
    return { line, nextLine: this.#line, end: this.#offset, bytes: isTooLong ? EMPTY : all, isTooLong }
  }
}

const EMPTY = Buffer.alloc(0)

/** Each line is a record, but for blank ones. */
export class LineSplitter implements Splitter {
  readonly #lines: RawLines
  readonly #limit: number

  constructor(start: Position, limit = MAX_RECORD_BYTES, newline = NEWLINE) {
    this.#lines = new RawLines(start, limit, newline)
    this.#limit = limit
  }

  get line(): number {
    return this.#lines.line
  }

  push(chunk: Buffer): SourceRecord[] {
    return this.#lines.push(chunk).flatMap((line) => toRecord(line, this.#limit))
  }

  finish(): SourceRecord[] {
    return this.#lines.finish().flatMap((line) => toRecord(line, this.#limit))
  }
}

/** Returns the record of a line, without its line end; nothing for a blank line. */
export function toRecord({ isTooLong, ...place }: RawLine, limit: number): SourceRecord[] {
  if (isTooLong) return [{ ...place, problem: tooLong(place.line, limit) }]
  const bytes = withoutLineEnd(place.bytes)
  return isBlank(bytes) ? [] : [{ ...place, bytes }]
}

/** Removes LF, CR or CR LF. */
export function withoutLineEnd(bytes: Buffer): Buffer {
  let end = bytes.length
  if (bytes[end - 1] === NEWLINE) end--
  if (bytes[end - 1] === RETURN) end--
  return bytes.subarray(0, end)
}

function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x09 && byte !== RETURN) return false
  return true
}
