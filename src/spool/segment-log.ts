import { join } from 'node:path'
import type { Clock } from '../runtime/clock.ts'
import { type FileSystem, isDenied, isFull } from './file-system.ts'
import type { Folders } from './folders.ts'
import { RECORD_HEADER_BYTES } from './format.ts'
import { addToRun, type Run } from './run.ts'
import { type FileRecord, Segment, segmentBytes, segmentName } from './segment.ts'
import type { SegmentWriter } from './segment-writer.ts'
import { SYNC_DENIED, Trouble } from './trouble.ts'

export interface SegmentLogOptions {
  readonly fs: FileSystem
  readonly folders: Folders
  readonly clock: Clock
  readonly maxBytes: number
  readonly sync: 'never' | 'interval' | 'always'
  /** Called when there is a new record that the client does not keep in memory and must read later. */
  readonly onWaiting: () => void
  readonly warn: (text: string) => void
}

const SYNC_INTERVAL_MS = 500
/** When this number of bytes waits, data is written before the end of the turn. */
const WRITE_AT_BYTES = 262_144
/** A segment that is larger than this and has only acknowledged records is removed before it is full. */
const WORTH_REMOVING_BYTES = 4_194_304

/** The segments of this process. Messages are appended to the last segment. */
export class SegmentLog {
  readonly #options: SegmentLogOptions
  readonly #segmentBytes: number
  readonly #trouble: Trouble
  #current: Segment | undefined
  /** Number of segments so far, used for their names. */
  #begun = 0
  /** Full segments that are not yet synced. */
  readonly #unsynced = new Set<Segment>()
  /** Segments whose files are missing, or unreliable after a failed sync. */
  readonly #misplaced = new Set<Segment>()
  readonly runs: Run[] = []
  /** Includes adopted files. */
  usedBytes = 0
  syncs = 0
  #hasNewNames = false
  #cancelSync: (() => void) | undefined
  #syncing: Promise<boolean> = Promise.resolve(true)
  #nextSync: Promise<boolean> | undefined
  #moving: Promise<void> = Promise.resolve()
  #isFull = false
  #isSyncDenied = false

  constructor(options: SegmentLogOptions) {
    this.#options = options
    this.#segmentBytes = segmentBytes(options.maxBytes)
    this.#trouble = new Trouble(options.clock, options.warn, {
      attempt: () => this.#recover(),
      onOver: () => void this.sync(),
    })
  }

  get isTroubled(): boolean {
    return this.#trouble.isThere
  }

  append(message: Uint8Array, isHeld: boolean): FileRecord | undefined {
    const bytes = RECORD_HEADER_BYTES + message.length
    if (!this.#hasRoom(bytes)) return undefined
    const segment = this.#segmentFor()
    const writer = segment.writer as SegmentWriter
    // While writing fails, only messages that the client also keeps in memory are accepted, and only up to a limit.
    if (this.isTroubled && (!isHeld || writer.buffered + bytes > this.#segmentBytes)) return undefined
    const record = segment.append(message)
    this.usedBytes += bytes
    if (!isHeld) {
      addToRun(this.runs, record)
      this.#options.onWaiting()
    }
    if (writer.buffered >= WRITE_AT_BYTES) this.flush()
    return record
  }

  /** Never throws. */
  flush(): void {
    const writer = this.#current?.writer
    if (writer === undefined || writer.buffered === 0 || this.isTroubled) return
    try {
      this.#write(writer)
    } catch (error) {
      return this.#trouble.begin(error)
    }
    if (this.#options.sync === 'always') void this.sync()
    else if (this.#options.sync === 'interval') this.#armSync()
  }

  /** Syncs everything appended so far, if the mode requires it. Concurrent calls share one sync. */
  sync(): Promise<boolean> {
    this.flush()
    if (this.#options.sync === 'never') return Promise.resolve(!this.isTroubled)
    if (this.#nextSync === undefined) {
      this.#nextSync = this.#syncing.then(() => {
        this.#syncing = this.#nextSync as Promise<boolean>
        this.#nextSync = undefined
        return this.#syncAll()
      })
    }
    return this.#nextSync
  }

  /** Removes the segment if all its records are acknowledged. */
  collect(segment: Segment): void {
    if (segment === this.#current && segment.live === 0 && segment.length > WORTH_REMOVING_BYTES) {
      segment.isComplete = true
      this.#current = undefined
    }
    if (!segment.isDone || segment === this.#current) return
    this.#unsynced.delete(segment)
    this.#misplaced.delete(segment)
    this.usedBytes -= segment.length
    this.#isFull = false
    try {
      segment.remove()
    } catch {
      // The directory can no longer be written to. The next process will find the segment and send its messages again.
    }
  }

  /** Checks that the files still exist. Never rejects. */
  async check(): Promise<void> {
    try {
      for (const segment of this.#open()) if (this.#isGone(segment)) this.#misplace(segment)
    } catch {
      // If the file system cannot answer now, the next heartbeat checks again.
    }
    if (this.#misplaced.size > 0) await this.#settle()
  }

  /** Ends the last segment. Records that are not acknowledged stay. */
  async close(): Promise<void> {
    this.#cancelSync?.()
    this.flush()
    const segment = this.#current
    this.#current = undefined
    if (segment !== undefined) {
      segment.isComplete = true
      this.#unsynced.add(segment)
      this.collect(segment)
    }
    if (this.#unsynced.size > 0) await this.sync()
    this.#cancelSync?.()
    this.#trouble.end()
    for (const left of this.#unsynced) left.close()
  }

  #hasRoom(bytes: number): boolean {
    const { maxBytes, warn } = this.#options
    const hasRoom = this.usedBytes + bytes <= maxBytes
    const isNews = !hasRoom && !this.#isFull
    this.#isFull = !hasRoom // Set before the warning: a listener may track again.
    if (isNews) warn(`the spool has reached its maxBytes (${maxBytes}), and takes no more`)
    return hasRoom
  }

  #segmentFor(): Segment {
    if (this.#current !== undefined && this.#current.length >= this.#segmentBytes) {
      this.flush()
      if (!this.isTroubled) this.#seal(this.#current)
    }
    if (this.#current === undefined) {
      this.#current = new Segment(this.#options.fs, this.#nextPath())
      this.usedBytes += this.#current.length
    }
    return this.#current
  }

  /** Ends a segment: no further records are appended to it. */
  #seal(segment: Segment): void {
    if (segment === this.#current) this.#current = undefined
    segment.isComplete = true
    this.#unsynced.add(segment)
    if (segment.isDone) this.collect(segment)
    else if (this.#options.sync === 'never') this.#release(segment)
  }

  #release(segment: Segment): void {
    this.#unsynced.delete(segment)
    segment.writer?.close()
  }

  readonly #nextPath = (): string => join(this.#options.folders.own, segmentName(++this.#begun))

  #write(writer: SegmentWriter): void {
    if (!writer.isOpen) {
      this.#options.folders.ensureOwn()
      this.#hasNewNames = true
    }
    writer.flush()
  }

  #armSync(): void {
    this.#cancelSync ??= this.#options.clock.setTimer(() => {
      this.#cancelSync = undefined
      void this.sync()
    }, SYNC_INTERVAL_MS)
  }

  /** Never rejects. */
  async #syncAll(): Promise<boolean> {
    this.flush()
    if (this.isTroubled) return false
    for (const segment of this.#open()) await this.#syncOne(segment)
    await this.#settle()
    return !this.isTroubled && !this.#isSyncDenied
  }

  #open(): Segment[] {
    return [...this.#unsynced, ...(this.#current === undefined ? [] : [this.#current])]
  }

  /** Whether the file of a segment was removed, or adopted by another process. Data written to such a file would be lost. */
  #isGone(segment: Segment): boolean {
    return segment.writer?.isOpen === true && this.#options.fs.info(segment.path) === undefined
  }

  async #syncOne(segment: Segment): Promise<void> {
    const { writer } = segment
    if (writer === undefined || segment.isRemoved || !writer.isOpen) return
    try {
      if (writer.written > writer.synced && !this.#isSyncDenied) {
        this.syncs++
        await writer.sync()
      }
      if (segment.isRemoved) return
      if (this.#isGone(segment)) this.#misplace(segment)
      else if (segment.isComplete) this.#release(segment)
    } catch (error) {
      // After a failed sync, the operating system may have dropped the data, so a second sync would prove nothing.
      if (!isDenied(error)) return this.#misplace(segment)
      // If fsync is denied, the file is intact: only a power cut can lose data.
      if (!this.#isSyncDenied) this.#options.warn(SYNC_DENIED)
      this.#isSyncDenied = true
      if (segment.isComplete) this.#release(segment)
    }
  }

  #misplace(segment: Segment): void {
    // Its file stays open: `#move` copies the records from it.
    if (segment === this.#current) this.#current = undefined
    segment.isComplete = true
    this.#unsynced.add(segment)
    this.#misplaced.add(segment)
  }

  /** Moves the misplaced segments to new files, and syncs the directory. Never rejects. */
  async #settle(): Promise<void> {
    const { fs, folders } = this.#options
    try {
      await this.#moveAll()
      if (!this.#hasNewNames || this.#isSyncDenied) return
      this.#hasNewNames = false
      await fs.syncDirectory(folders.own)
      await fs.syncDirectory(folders.directory)
    } catch (error) {
      this.#hasNewNames = true
      this.#trouble.begin(error)
    }
  }

  /** Moves the segments one after the other: two concurrent moves might copy one segment to two files. */
  #moveAll(): Promise<void> {
    const moved = this.#moving.then(async () => {
      for (const segment of this.#misplaced) await this.#move(segment)
    })
    this.#moving = moved.catch(() => {})
    return moved
  }

  async #move(segment: Segment): Promise<void> {
    this.#options.folders.ensureOwn()
    this.#hasNewNames = true
    if (!segment.isRemoved) await segment.move(this.#nextPath())
    this.#misplaced.delete(segment)
    this.#release(segment)
    this.collect(segment)
  }

  async #recover(): Promise<void> {
    this.#options.folders.ensureOwn()
    const segment = this.#current
    const writer = segment?.writer
    const isElsewhere = writer?.isOpen === true && !isFull(this.#trouble.cause)
    // Writing to another file may work.
    if (segment !== undefined && isElsewhere) this.#misplace(segment)
    else if (writer !== undefined) this.#write(writer)
    await this.#moveAll()
  }
}
