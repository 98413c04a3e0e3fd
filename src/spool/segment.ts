import type { SpoolRecord } from '../line/spool.ts'
import { Acknowledgements } from './acknowledgements.ts'
import { type FileSystem, OpenFile } from './file-system.ts'
import { HEADER_BYTES } from './format.ts'
import { SegmentWriter } from './segment-writer.ts'

export class FileRecord implements SpoolRecord {
  constructor(
    readonly segment: Segment,
    /** The offset of the record in the file. */
    readonly start: number,
    readonly end: number,
  ) {}

  isAcknowledged = false

  get isKept(): boolean {
    return this.segment.isKept(this.end)
  }
}

/** One file of the spool with its records, and the file with their acknowledgements. */
export class Segment {
  readonly #fs: FileSystem
  readonly #acknowledgements: Acknowledgements
  /** `undefined` for a segment of another process. */
  readonly writer: SegmentWriter | undefined
  readonly #path: string
  readonly #size: number
  #file: OpenFile | undefined
  /** Number of records that were appended or read and are not acknowledged. */
  live = 0
  /** Whether no further records follow, because the segment is full or was read to its end. */
  isComplete = false
  isDamaged = false
  isRemoved = false
  isMoving = false

  /** @param size Bytes of the file for a segment of another process; `undefined` for a new segment. */
  constructor(fs: FileSystem, path: string, size?: number) {
    this.#fs = fs
    this.#path = path
    this.#size = size ?? 0
    this.writer = size === undefined ? new SegmentWriter(fs, path) : undefined
    this.#acknowledgements = new Acknowledgements(fs, acknowledgementsOf(path))
  }

  get path(): string {
    return this.writer?.path ?? this.#path
  }

  get length(): number {
    return this.writer?.length ?? this.#size
  }

  /** Whether the segment can be removed. */
  get isDone(): boolean {
    return this.isComplete && this.live === 0 && !this.isMoving && !this.isRemoved
  }

  /** Whether the bytes before `end` are in the file, where another process could read them. */
  isKept(end: number): boolean {
    return this.writer === undefined || end <= this.writer.written
  }

  append(message: Uint8Array): FileRecord {
    const writer = this.writer as SegmentWriter
    const start = writer.append(message)
    this.live++
    return new FileRecord(this, start, writer.length)
  }

  acknowledge({ start, end }: FileRecord): void {
    this.live--
    this.#acknowledgements.add(start, end)
  }

  flushAcknowledgements(): void {
    this.#acknowledgements.flush()
  }

  closeAcknowledgements(): void {
    this.#acknowledgements.close()
  }

  /** The byte ranges that an earlier process acknowledged. */
  readAcknowledged(): Promise<(readonly [start: number, end: number])[]> {
    return this.#acknowledgements.read()
  }

  /** Returns the number of bytes that were read; 0 at the end. */
  async read(target: Uint8Array, position: number): Promise<number> {
    if (this.writer?.isOpen || (this.writer && position >= this.writer.written)) {
      return this.writer.read(target, position)
    }
    this.#file ??= new OpenFile(this.#fs, this.#fs.open(this.path, 'read'))
    return this.#file.read(target, position)
  }

  async move(path: string): Promise<void> {
    const former = this.path
    this.isMoving = true
    try {
      await this.writer?.move(path)
    } finally {
      this.isMoving = false
    }
    this.#acknowledgements.remove()
    this.#acknowledgements.move(acknowledgementsOf(path))
    if (this.#fs.info(former) !== undefined) this.#fs.remove(former)
  }

  close(): void {
    this.writer?.close()
    this.#acknowledgements.close()
    this.closeReader()
  }

  /** Syncs the data that another process has written. */
  async syncReader(): Promise<void> {
    await this.#file?.sync()
  }

  closeReader(): void {
    this.#file?.close()
    this.#file = undefined
  }

  /** Removes both files. The segment is removed first: without its acknowledgements, it would be sent again. */
  remove(): void {
    this.isRemoved = true
    this.close()
    if (this.writer === undefined || this.writer.written > 0) this.#removeIfThere(this.path)
    this.#acknowledgements.remove()
  }

  quarantine(path: string): void {
    this.isRemoved = true
    this.close()
    this.#fs.rename(this.path, path)
    this.#acknowledgements.remove()
  }

  #removeIfThere(path: string): void {
    if (this.#fs.info(path) !== undefined) this.#fs.remove(path)
  }
}

export const FIRST_RECORD = HEADER_BYTES

const MAX_SEGMENT_BYTES = 8_388_608
const MIN_SEGMENT_BYTES = 65_536

/** The size at which a segment counts as full. */
export function segmentBytes(maxBytes: number): number {
  return Math.max(MIN_SEGMENT_BYTES, Math.min(MAX_SEGMENT_BYTES, maxBytes / 8))
}

const SEGMENT_NAME = /^(\d{8})\.seg$/

/** @param number Has at most eight digits. */
export function segmentName(number: number): string {
  return `${String(number).padStart(8, '0')}.seg`
}

export function segmentNumber(name: string): number | undefined {
  const [, digits] = SEGMENT_NAME.exec(name) ?? []
  return digits === undefined ? undefined : Number(digits)
}

export function acknowledgementsOf(path: string): string {
  return path.replace(/\.seg$/, '.ack')
}
