import { codeOf, type FileSystem, isDenied, OpenFile } from './file-system.ts'
import { createHeader, HEADER_BYTES, RECORD_HEADER_BYTES, writeRecord } from './format.ts'

const FIRST_BUFFER_BYTES = 65_536
/** A buffer that a burst has made larger is not kept. */
const MAX_KEPT_BUFFER_BYTES = 1_048_576

/** Appends records to a file: collects those of a turn, and writes them at once. */
export class SegmentWriter {
  readonly #fs: FileSystem
  #path: string
  #file: OpenFile | undefined
  #buffer = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES)
  #buffered = 0
  /** Bytes of the buffer, from its start on, that are in the file. */
  #flushed = 0
  /** Bytes in the file. */
  written = 0
  /** Bytes of the file that are on the disk. */
  synced = 0

  constructor(fs: FileSystem, path: string) {
    this.#fs = fs
    this.#path = path
    this.#buffered = createHeader().copy(this.#buffer)
  }

  get path(): string {
    return this.#path
  }

  /** All bytes, those that are still to be written included. */
  get length(): number {
    return this.written + this.buffered
  }

  /** Bytes that are still to be written. */
  get buffered(): number {
    return this.#buffered - this.#flushed
  }

  get isOpen(): boolean {
    return this.#file !== undefined
  }

  /** @returns Where the record starts in the file. */
  append(message: Uint8Array): number {
    const start = this.length
    this.#reserve(RECORD_HEADER_BYTES + message.length)
    this.#buffered = writeRecord(this.#buffer, this.#buffered, message)
    return start
  }

  /** Writes what was collected. When it throws, what could not be written stays, and the next call goes on with it. */
  flush(): void {
    if (this.buffered === 0) return
    this.#file ??= this.#create()
    while (this.#flushed < this.#buffered) {
      const bytes = this.#buffer.subarray(this.#flushed, this.#buffered)
      const count = this.#fs.write(this.#file.file, bytes, this.written)
      if (count === 0) throw Object.assign(new Error('nothing was written'), { code: 'ENOSPC' })
      this.#flushed += count
      this.written += count
    }
    this.#buffered = 0
    this.#flushed = 0
    if (this.#buffer.length > MAX_KEPT_BUFFER_BYTES) {
      this.#buffer = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES)
    }
  }

  /** Has on the disk what is in the file. */
  async sync(): Promise<void> {
    const { written } = this
    if (this.#file === undefined || written === this.synced) return
    await this.#file.sync()
    this.synced = Math.max(this.synced, written)
  }

  /** Reads what was appended, written or not. Returns the number of bytes; 0 at the end. */
  async read(target: Uint8Array, position: number): Promise<number> {
    if (position < this.written) {
      if (this.#file === undefined) throw Object.assign(new Error('the file is closed'), { code: 'EBADF' })
      const length = Math.min(target.length, this.written - position)
      return this.#file.read(target.subarray(0, length), position)
    }
    const from = this.#flushed + position - this.written
    const bytes = this.#buffer.subarray(Math.min(from, this.#buffered), this.#buffered)
    target.set(bytes.subarray(0, target.length))
    return Math.min(bytes.length, target.length)
  }

  /**
   * Takes all of it to another file, from the one that is open, and syncs that. For a file that is not to be trusted any
   * more, or that somebody has removed. Nothing may be appended meanwhile.
   */
  async move(path: string): Promise<void> {
    const copy = new OpenFile(this.#fs, this.#fs.create(path))
    try {
      const chunk = Buffer.allocUnsafe(FIRST_BUFFER_BYTES)
      let position = 0
      for (let count = 0; position < this.length; position += count) {
        count = await this.#salvage(chunk, position)
        for (let from = 0; from < count; ) {
          from += this.#fs.write(copy.file, chunk.subarray(from, count), position + from)
        }
      }
      await copy.sync().catch((error) => {
        if (!isDenied(error)) throw error
      })
      this.close()
      this.#file = copy
      this.#path = path
      this.written = position
      this.synced = position
      this.#buffered = 0
      this.#flushed = 0
    } catch (error) {
      copy.close()
      this.#fs.remove(path)
      throw error
    }
  }

  /** As `read`, with zeros for what cannot be read any more: what comes after it keeps its place. */
  async #salvage(target: Uint8Array, position: number): Promise<number> {
    try {
      const count = await this.read(target, position)
      if (count > 0) return count
    } catch {
      // As if nothing were there.
    }
    const count = Math.min(target.length, this.length - position)
    target.fill(0, 0, count)
    return count
  }

  close(): void {
    this.#file?.close()
    this.#file = undefined
  }

  #create(): OpenFile {
    try {
      return new OpenFile(this.#fs, this.#fs.create(this.#path))
    } catch (error) {
      // The header alone, or less: a file of this name is from an attempt that failed.
      if (codeOf(error) !== 'EEXIST' || this.written >= HEADER_BYTES) throw error
      this.#fs.remove(this.#path)
      return new OpenFile(this.#fs, this.#fs.create(this.#path))
    }
  }

  #reserve(bytes: number): void {
    const needed = this.#buffered + bytes
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2))
    this.#buffer.copy(larger, 0, 0, this.#buffered)
    this.#buffer = larger
  }
}
