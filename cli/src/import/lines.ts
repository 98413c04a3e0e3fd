import {
  MAX_RECORD_BYTES,
  NEWLINE,
  type Position,
  type SourceRecord,
  type Splitter,
  tooLong,
  withoutReturn,
} from './record.ts'

/** Keeps at most one line of `limit` bytes in memory. */
export class LineSplitter implements Splitter {
  readonly #limit: number
  #offset: number
  #line: number
  /** The beginning of a line whose end has not been read yet. */
  #parts: Buffer[] = []
  #partBytes = 0

  constructor({ offset, line }: Position, limit = MAX_RECORD_BYTES) {
    this.#offset = offset
    this.#line = line
    this.#limit = limit
  }

  get line(): number {
    return this.#line
  }

  push(chunk: Buffer): SourceRecord[] {
    const records: SourceRecord[] = []
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, end))
      this.#endLine(end + 1 - start, records)
      start = end + 1
    }
    const rest = chunk.subarray(start)
    this.#keep(rest)
    this.#offset += rest.length
    return records
  }

  finish(): SourceRecord[] {
    const records: SourceRecord[] = []
    if (this.#partBytes > 0) this.#endLine(0, records)
    return records
  }

  #keep(part: Buffer): void {
    this.#partBytes += part.length
    if (this.#partBytes > this.#limit) this.#parts = []
    else if (part.length > 0) this.#parts.push(part)
  }

  #endLine(readBytes: number, records: SourceRecord[]): void {
    this.#offset += readBytes
    const line = this.#line++
    const isTooLong = this.#partBytes > this.#limit
    const bytes = withoutReturn(
      this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts),
    )
    this.#parts = []
    this.#partBytes = 0
    const place = { line, nextLine: this.#line, end: this.#offset, bytes }
    if (isTooLong) records.push({ ...place, problem: tooLong(line, this.#limit) })
    else if (!isBlank(bytes)) records.push(place)
  }
}

export function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false
  return true
}
