import type { RecoveredMessage } from '../line/spool.ts'
import { HEADER_BYTES, RECORD_HEADER_BYTES, readRecord, readVersion, VERSION } from './format.ts'
import { FileRecord, type Segment } from './segment.ts'

const CHUNK_BYTES = 262_144

export interface FoundMessage extends RecoveredMessage {
  readonly record: FileRecord
}

/** The records in a part of a segment. */
export interface Stretch {
  readonly messages: readonly FoundMessage[]
  /** The offset at which the next part starts. */
  readonly end: number
  /** Whether some bytes were damaged: neither a valid record nor the beginning of a record that a crash has cut short. */
  readonly hasDamage: boolean
}

/**
 * A buffer that all readers of a spool share, one after the other, because the garbage collector is slow to free memory outside
 * the heap.
 */
export class ReadingRoom {
  #bytes: Buffer | undefined

  get bytes(): Buffer {
    this.#bytes ??= Buffer.allocUnsafeSlow(CHUNK_BYTES)
    return this.#bytes
  }

  /** Called when there is nothing to read now. */
  leave(): void {
    this.#bytes = undefined
  }
}

/** Reads a segment from start to end, in parts, so that a large segment does not need more memory. */
export class SegmentReader {
  readonly #segment: Segment
  readonly #isOwn: boolean
  readonly #acknowledged: readonly (readonly [start: number, end: number])[]
  #nextRange = 0
  #bytes: Buffer

  /**
   * @param isOwn Whether this process has appended the records. If so, `segment.live` already counts them.
   * @param room The buffer to read into. Its old content is overwritten.
   * @param acknowledged Byte ranges to skip, in order.
   */
  constructor(
    segment: Segment,
    isOwn: boolean,
    room: ReadingRoom,
    acknowledged: readonly (readonly [start: number, end: number])[] = [],
  ) {
    this.#segment = segment
    this.#isOwn = isOwn
    this.#acknowledged = acknowledged
    this.#bytes = room.bytes
  }

  /**
   * Reads the next records from the offset `start` on. Acknowledged records are left out, so the result may be empty.
   *
   * @param end The offset at which to stop; a record ends there.
   */
  async read(start: number, end: number): Promise<Stretch> {
    let length = await this.#fill(start, end, 0)
    const messages: FoundMessage[] = []
    let hasDamage = false
    let at = 0
    let left = end - start
    while (left > 0 && at < length) {
      const found = readRecord(this.#bytes, at, length, left)
      if (found.kind === 'incomplete') {
        // The complete records are returned first. The next call reads the incomplete record again from its start.
        if (messages.length > 0) break
        const filled = await this.#fillWhole(start + at, end, found.bytes)
        if (filled < found.bytes) return { messages, end, hasDamage: true }
        ;[length, start, at] = [filled, start + at, 0]
        continue
      }
      if (found.kind === 'damage') hasDamage ||= !found.isTorn || found.end < end - start
      else this.#take(messages, start + at, at, found.end)
      left -= found.end - at
      at = found.end
    }
    // If nothing was read, the file was cut short.
    if (length === 0) return { messages, end, hasDamage: true }
    return { messages, end: start + at, hasDamage }
  }

  #take(messages: FoundMessage[], start: number, at: number, to: number): void {
    const end = start + to - at
    if (this.#isAcknowledged(start, end)) return
    if (!this.#isOwn) this.#segment.live++
    const record = new FileRecord(this.#segment, start, end)
    messages.push({ record, isOwn: this.#isOwn, message: this.#bytes.subarray(at + RECORD_HEADER_BYTES, to) })
  }

  /** The ranges are in order, and so are the records. */
  #isAcknowledged(start: number, end: number): boolean {
    for (;;) {
      const range = this.#acknowledged[this.#nextRange]
      if (range === undefined || range[0] > start) return false
      if (range[1] >= end) return true
      this.#nextRange++
    }
  }

  async #fillWhole(start: number, end: number, wanted: number): Promise<number> {
    if (wanted > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(wanted)
    return this.#fill(start, end, wanted)
  }

  /** Reads into the buffer, at least `wanted` bytes if the file has them. Returns the number of bytes. */
  async #fill(start: number, end: number, wanted: number): Promise<number> {
    const room = Math.min(this.#bytes.length, end - start)
    let length = 0
    do {
      const count = await this.#segment.read(this.#bytes.subarray(length, room), start + length)
      if (count === 0) break
      length += count
    } while (length < Math.min(wanted, room))
    return length
  }
}

/**
 * The offset at which the records of a segment start: after the header, or at 0 if the header is damaged. `undefined` for a
 * segment of a later version of this library.
 */
export async function readHeader(segment: Segment): Promise<number | undefined> {
  const header = Buffer.alloc(HEADER_BYTES)
  const length = await segment.read(header, 0)
  const version = readVersion(header.subarray(0, length))
  if (version === undefined) return 0
  return version === VERSION ? HEADER_BYTES : undefined
}
