import {
  MAX_RECORD_BYTES,
  NEWLINE,
  type Position,
  RETURN,
  type SourceRecord,
  type Splitter,
  tooLong,
} from './record.ts'

/** Cuts a stream after each line end, which the lines keep. */
export class RawLines {
  readonly #newline: number
  #offset: number
  #line: number
  /** The beginning of a line whose end has not been read yet. */
  #parts: Buffer[] = []
  #partBytes = 0

  /** @param newline The last byte of a line end. */
  constructor({ offset, line }: Position, newline = NEWLINE) {
    this.#offset = offset
    this.#line = line
    this.#newline = newline
  }

  /** Number of the line to which the next byte belongs. */
  get line(): number {
    return this.#line
  }

  push(chunk: Buffer): SourceRecord[] {
    const lines: SourceRecord[] = []
    let start = 0
    for (let end = chunk.indexOf(this.#newline); end !== -1; end = chunk.indexOf(this.#newline, start)) {
      this.#keep(chunk.subarray(start, end + 1))
      lines.push(this.#endLine())
      start = end + 1
    }
    this.#keep(chunk.subarray(start))
    return lines
  }

  finish(): SourceRecord[] {
    return this.#partBytes > 0 ? [this.#endLine()] : []
  }

  #keep(part: Buffer): void {
    this.#partBytes += part.length
    this.#offset += part.length
    // The line end, which may have two bytes, does not count.
    if (this.#partBytes > MAX_RECORD_BYTES + 2) this.#parts = []
    else if (part.length > 0) this.#parts.push(part)
  }

  #endLine(): SourceRecord {
    const line = this.#line++
    const all = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts)
    const isTooLong = this.#partBytes > MAX_RECORD_BYTES + 2 || withoutLineEnd(all).length > MAX_RECORD_BYTES
    this.#parts = []
    this.#partBytes = 0
    const place = { line, nextLine: this.#line, end: this.#offset }
    if (isTooLong) return { ...place, bytes: EMPTY, problem: tooLong(line) }
    return { ...place, bytes: all }
  }
}

const EMPTY = Buffer.alloc(0)

/** Each line is a record, but for blank ones. */
export class LineSplitter implements Splitter {
  readonly #lines: RawLines

  constructor(start: Position, newline = NEWLINE) {
    this.#lines = new RawLines(start, newline)
  }

  get line(): number {
    return this.#lines.line
  }

  push(chunk: Buffer): SourceRecord[] {
    return this.#lines.push(chunk).flatMap(toRecord)
  }

  finish(): SourceRecord[] {
    return this.#lines.finish().flatMap(toRecord)
  }
}

/** Returns a line without its line end, and nothing for a blank one. */
export function toRecord(line: SourceRecord): SourceRecord[] {
  if (line.problem !== undefined) return [line]
  const bytes = withoutLineEnd(line.bytes)
  const { line: number, nextLine, end } = line
  return isBlank(bytes) ? [] : [{ line: number, nextLine, end, bytes }]
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
