import { codeOf, type FileSystem, isDenied, OpenFile } from './file-system.ts'
import { createHeader, HEADER_BYTES, RECORD_HEADER_BYTES, writeRecord } from './format.ts'

const FIRST_BUFFER_BYTES = 65_536
/** A buffer that has grown beyond this size is not kept after writing. */
const MAX_KEPT_BUFFER_BYTES = 1_048_576

/** Appends records to a file. Collects the records of a turn and writes them together. */
export class SegmentWriter {
  readonly #fs: FileSystem
  #path: string
  #file: OpenFile | undefined
  #buffer = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES)
  #buffered = 0
  /** Number of bytes of the buffer that are already in the file. */
  #flushed = 0
  /** Number of bytes in the file. */
  written = 0
  synced = 0

  constructor(fs: FileSystem, path: string) {
    this.#fs = fs
    this.#path = path
    this.#buffered = createHeader().copy(this.#buffer)
  }

  get path(): string {
    return this.#path
  }

  /** Includes the bytes that are not yet written. */
  get length(): number {
    return this.written + this.buffered
  }

  get buffered(): number {
    return this.#buffered - this.#flushed
  }

  get isOpen(): boolean {
    return this.#file !== undefined
  }

  /** @returns The offset of the record in the file. */
  append(message: Uint8Array): number {
    const start = this.length
    this.#reserve(RECORD_HEADER_BYTES + message.length)
    this.#buffered = writeRecord(this.#buffer, this.#buffered, message)
    return start
  }

  /** Writes the collected records. If it throws, the unwritten bytes stay in the buffer, and the next call continues. */
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

  async sync(): Promise<void> {
    const { written } = this
    if (this.#file === undefined || written === this.synced) return
    await this.#file.sync()
    this.synced = Math.max(this.synced, written)
  }

  /** Reads appended bytes, from the file or from the buffer. Returns their number; 0 at the end. */
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
   * Copies everything from the open file to a new file, and syncs the new file. For a file that is unreliable or was removed.
   * Nothing may be appended in the meantime.
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

  /** Like `read`, but returns zeros for unreadable bytes, so that later bytes keep their offset. */
  async #salvage(target: Uint8Array, position: number): Promise<number> {
    try {
      const count = await this.read(target, position)
      if (count > 0) return count
    } catch {
      // An error is treated like the end of the file.
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
      // If not even the header was written, the file is left over from a failed attempt and may be removed.
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
