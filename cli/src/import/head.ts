import { UsageError } from '../errors.ts'
import { NEWLINE, type Position, RETURN, type SourceRecord, type Splitter } from './record.ts'

/** Enough to find the format. */
const MAX_BYTES = 65_536

/** The beginning of a file: what has been read to find out how to read it. */
export class Head {
  bytes: Buffer = Buffer.alloc(0)
  isEnded = false
  readonly rest: AsyncIterator<Buffer>

  constructor(chunks: AsyncIterable<Buffer>) {
    this.rest = chunks[Symbol.asyncIterator]()
  }

  /** Returns whether there was more. */
  async more(): Promise<boolean> {
    const { value, done } = await this.rest.next()
    this.isEnded = done === true
    if (done !== true) this.bytes = this.bytes.length === 0 ? value : Buffer.concat([this.bytes, value])
    return !this.isEnded
  }

  /** Reads the first line, and the byte after a CR: a pipe may yield one byte at a time. */
  async readLine(): Promise<void> {
    const isLine = (): boolean => {
      const at = this.bytes.indexOf(RETURN)
      return this.bytes.includes(NEWLINE) || (at !== -1 && at < this.bytes.length - 1)
    }
    await this.readUntil(isLine)
  }

  /** Reads until a condition is met, the file ends, or there is enough. */
  async readUntil(isMet: () => boolean): Promise<void> {
    while (this.bytes.length < MAX_BYTES && !isMet() && (await this.more()));
  }

  /** @throws UsageError when the file has no more than `count` lines. */
  async skipLines({ offset, line }: Position, count: number, newline: number): Promise<Position> {
    if (count === 0) return { offset, line }
    for (;;) {
      const at = this.bytes.indexOf(newline, offset)
      if (at !== -1) return this.skipLines({ offset: at + 1, line: line + 1 }, count - 1, newline)
      if (!(await this.more()))
        throw new UsageError(`line ${line}: the file ends in the lines of --skip-lines`)
    }
  }

  /** Reads further, if necessary. */
  async firstRecord(splitter: Splitter, { offset }: Position): Promise<SourceRecord | undefined> {
    let [first] = splitter.push(this.bytes.subarray(offset))
    while (first === undefined) {
      const start = this.bytes.length
      const records = (await this.more()) ? splitter.push(this.bytes.subarray(start)) : splitter.finish()
      first = records[0]
      if (this.isEnded) break
    }
    return first
  }

  /** Yields everything from an offset on. @throws UsageError when the file is shorter. */
  async *from(offset: number): AsyncGenerator<Buffer> {
    let at = 0
    const cut = (chunk: Buffer): Buffer => {
      const rest = chunk.subarray(Math.min(Math.max(0, offset - at), chunk.length))
      at += chunk.length
      return rest
    }
    const first = cut(this.bytes)
    this.bytes = Buffer.alloc(0)
    if (first.length > 0) yield first
    while (!this.isEnded) {
      const { value, done } = await this.rest.next()
      this.isEnded = done === true
      const rest = done === true ? undefined : cut(value)
      if (rest !== undefined && rest.length > 0) yield rest
    }
    if (at < offset)
      throw new UsageError('the file has changed: it is shorter than the part that was imported')
  }
}
