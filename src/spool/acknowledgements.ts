import { crc32c } from './crc32c.ts'
import { codeOf, type FileSystem } from './file-system.ts'
import { createHeader, HEADER_BYTES, readVersion, VERSION } from './format.ts'

/** Bytes of one entry: the start and the end of a byte range in the segment, and the CRC-32C of these two numbers. */
const RANGE_BYTES = 12
const MAGIC = Buffer.from('TRKSPACK', 'latin1')

/**
 * Records which byte ranges of a segment (a file of the spool) are acknowledged, in an append-only file beside the segment. If
 * a crash loses a part of this file, some messages are sent twice.
 */
export class Acknowledgements {
  readonly #fs: FileSystem
  #path: string
  /** Ranges that are not yet in the file. */
  #fresh: [start: number, end: number][] = []
  /** Length of the file in bytes; `undefined` before it is opened. */
  #length: number | undefined
  #file: number | undefined

  constructor(fs: FileSystem, path: string) {
    this.#fs = fs
    this.#path = path
  }

  add(start: number, end: number): void {
    const last = this.#fresh[this.#fresh.length - 1]
    if (last !== undefined && last[1] === start) last[1] = end
    else this.#fresh.push([start, end])
  }

  /**
   * Reads the ranges that an earlier process wrote, in order, with adjacent ranges joined. Damaged entries are left out: their
   * messages are sent again.
   */
  async read(): Promise<(readonly [start: number, end: number])[]> {
    const bytes = await this.#readAll()
    if (bytes.length === 0 || readVersion(bytes, MAGIC) !== VERSION) return []
    // A partial entry that a crash has left is overwritten: otherwise the entries after it would be misaligned.
    this.#length = bytes.length - ((bytes.length - HEADER_BYTES) % RANGE_BYTES)
    const ranges: [number, number][] = []
    for (let at = HEADER_BYTES; at + RANGE_BYTES <= bytes.length; at += RANGE_BYTES) {
      if (bytes.readUInt32LE(at + 8) !== crc32c(bytes, at, at + 8)) continue
      ranges.push([bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4)])
    }
    ranges.sort(([a], [b]) => a - b)
    const joined: [number, number][] = []
    for (const [start, end] of ranges) {
      const last = joined[joined.length - 1]
      if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end)
      else joined.push([start, end])
    }
    return joined
  }

  flush(): void {
    if (this.#fresh.length === 0) return
    this.#file ??= this.#openFile()
    const at = this.#length ?? 0
    const ranges = Buffer.allocUnsafe(this.#fresh.length * RANGE_BYTES)
    this.#fresh.forEach(([start, end], index) => {
      const offset = index * RANGE_BYTES
      ranges.writeUInt32LE(start, offset)
      ranges.writeUInt32LE(end, offset + 4)
      ranges.writeUInt32LE(crc32c(ranges, offset, offset + 8), offset + 8)
    })
    const bytes = at === 0 ? Buffer.concat([createHeader(VERSION, MAGIC), ranges]) : ranges
    // After a partial write, the next call writes the same ranges again at the same place.
    if (this.#fs.write(this.#file, bytes, at) < bytes.length) return
    this.#length = at + bytes.length
    this.#fresh = []
  }

  /** Called when the segment has moved to another file. Acknowledgements that were written before are not written again. */
  move(path: string): void {
    this.close()
    this.#path = path
    this.#length = undefined
  }

  close(): void {
    if (this.#file === undefined) return
    this.#fs.close(this.#file)
    this.#file = undefined
  }

  remove(): void {
    this.close()
    try {
      this.#fs.remove(this.#path)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
    }
  }

  #openFile(): number {
    if (this.#length !== undefined) return this.#fs.open(this.#path, 'write')
    try {
      return this.#fs.create(this.#path)
    } catch (error) {
      // The file is left over from a failed attempt, or damaged. It is written again.
      if (codeOf(error) === 'EEXIST') return this.#fs.open(this.#path, 'write')
      throw error
    }
  }

  async #readAll(): Promise<Buffer> {
    const info = this.#fs.info(this.#path)
    if (info?.kind !== 'file') return Buffer.alloc(0)
    const bytes = Buffer.alloc(info.size)
    const file = this.#fs.open(this.#path, 'read')
    try {
      let length = 0
      while (length < bytes.length) {
        const count = await this.#fs.read(file, bytes.subarray(length), length)
        if (count === 0) break
        length += count
      }
      return bytes.subarray(0, length)
    } finally {
      this.#fs.close(file)
    }
  }
}
