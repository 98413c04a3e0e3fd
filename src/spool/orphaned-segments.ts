import { basename, dirname, join } from 'node:path'
import type { RecoveredMessage } from '../line/spool.ts'
import { type FileSystem, isShortage } from './file-system.ts'
import type { Folders } from './folders.ts'
import { acknowledgementsOf, Segment, segmentNumber } from './segment.ts'
import { type ReadingRoom, readHeader, SegmentReader } from './segment-reader.ts'

/** What small segments have is gathered until it is this much, so that it goes out in few requests. */
const GATHERED_MESSAGES = 500
const GATHERED_BYTES = 262_144

export interface OrphanedSegmentsOptions {
  readonly fs: FileSystem
  readonly folders: Folders
  /** Whether a segment is synced before it is read, because its process may have died before it could sync. */
  readonly isSynced: boolean
  /** Called with the bytes of each adopted file, and with a negative number when it is removed. */
  readonly account: (bytes: number) => void
  readonly warn: (text: string) => void
  readonly room: ReadingRoom
}

interface Reading {
  readonly segment: Segment
  readonly reader: SegmentReader
  readonly size: number
  at: number
}

/** Finds and adopts the segments of dead processes, and reads one after the other. */
export class OrphanedSegments {
  readonly #options: OrphanedSegmentsOptions
  /** Paths of the segments to read; the next one is the last element. */
  #queue: string[] = []
  /** Adopted folders and segments that could not be opened. The next scan tries again. */
  readonly #postponed: { folders: string[]; segments: string[] } = { folders: [], segments: [] }
  #reading: Reading | undefined
  #isClosed = false
  #syncedFolder = ''
  damaged = 0

  constructor(options: OrphanedSegmentsOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#reading === undefined
  }

  /** Adopts all orphaned segments. Never throws. */
  scan(): void {
    const segments = this.#postponed.segments.splice(0)
    let folders = this.#postponed.folders.splice(0)
    try {
      folders = folders.concat(this.#options.folders.adopt())
    } catch {
      // The directory cannot be read; the next scan tries again.
    }
    // There may be more segments than a call may have arguments.
    this.#queue = [
      ...segments.concat(folders.flatMap((folder) => this.#segmentsOf(folder))).reverse(),
      ...this.#queue,
    ]
  }

  /** Reads the next messages, of one segment or of several small ones; `undefined` when there are none. Never rejects. */
  async next(): Promise<readonly RecoveredMessage[] | undefined> {
    const gathered: RecoveredMessage[] = []
    let bytes = 0
    for (;;) {
      const reading = this.#reading ?? (await this.#open())
      if (this.#isClosed) {
        reading?.segment.close()
        return undefined
      }
      if (reading === undefined) return gathered.length > 0 ? gathered : undefined
      this.#reading = reading
      const { segment, reader, size } = reading
      let messages: readonly RecoveredMessage[] = []
      try {
        const stretch = await reader.read(reading.at, size)
        ;({ messages, end: reading.at } = stretch)
        segment.isDamaged ||= stretch.hasDamage
      } catch {
        // The file cannot be read, or no longer exists.
        segment.isDamaged = true
        reading.at = size
      }
      if (reading.at >= size) this.#end(segment)
      // A part of a large segment need not be copied.
      if (messages.length > 0 && gathered.length === 0 && reading.at < size) return messages
      for (const { message, ...rest } of messages) {
        // The next segment is read into the same buffer.
        gathered.push({ ...rest, message: message && Buffer.from(message) })
        bytes += message?.length ?? 0
      }
      if (gathered.length >= GATHERED_MESSAGES || bytes >= GATHERED_BYTES) return gathered
    }
  }

  #end(segment: Segment): void {
    this.#reading = undefined
    segment.closeReader()
    segment.isComplete = true
    this.collect(segment)
  }

  collect(segment: Segment): void {
    if (!segment.isDone) return
    const { folders, account, warn } = this.#options
    account(-segment.length)
    try {
      if (segment.isDamaged) {
        this.damaged++
        const path = folders.quarantinePath()
        segment.quarantine(path)
        warn(`a file of the spool is damaged; its readable events were recovered, and it is kept as ${path}`)
      } else segment.remove()
      folders.removeIfEmpty(dirname(segment.path))
    } catch {
      // The file stays in place for the next process.
    }
  }

  close(): void {
    this.#isClosed = true
    this.#queue.length = 0
    this.#reading?.segment.close()
    this.#reading = undefined
  }

  async #open(): Promise<Reading | undefined> {
    for (let path = this.#queue.pop(); path !== undefined; path = this.#queue.pop()) {
      let segment: Segment | undefined
      try {
        const size = this.#options.fs.info(path)?.size ?? 0
        segment = new Segment(this.#options.fs, path, size)
        const at = await readHeader(segment)
        if (at !== undefined) {
          segment.isDamaged = at === 0 && size > 0
          if (this.#options.isSynced) await this.#sync(segment)
          const acknowledged = await segment.readAcknowledged()
          const reader = new SegmentReader(segment, false, this.#options.room, acknowledged)
          return { segment, reader, size, at }
        }
        // A later version of this library has written the segment, and will read it.
      } catch (error) {
        // After any other error, a retry is no use: access is denied, or the file no longer exists.
        if (isShortage(error)) this.#postponed.segments.push(path)
      }
      segment?.close()
    }
    return undefined
  }

  async #sync(segment: Segment): Promise<void> {
    const { fs, folders } = this.#options
    try {
      await segment.syncReader()
      const folder = dirname(segment.path)
      if (folder === this.#syncedFolder) return
      await fs.syncDirectory(folder)
      await fs.syncDirectory(folders.directory)
      this.#syncedFolder = folder
    } catch {
      // The disk has an error. The messages that can be read are still sent.
    }
  }

  #segmentsOf(folder: string): string[] {
    const { fs, folders, account } = this.#options
    const paths: string[] = []
    try {
      const names = fs.list(folder).sort()
      for (const name of names) {
        const path = join(folder, name)
        if (segmentNumber(name) !== undefined) {
          const info = fs.info(path)
          // A symbolic link is not followed: it is an attack or a mistake.
          if (info?.kind !== 'file' || folders.isOthers(path, info)) continue
          account(info.size)
          paths.push(path)
        } else this.#removeAcknowledgements(path, names)
      }
      if (paths.length === 0) folders.removeIfEmpty(folder)
    } catch (error) {
      if (isShortage(error) && paths.length === 0) this.#postponed.folders.push(folder)
      // An inaccessible folder must not block the other folders, which are already adopted.
    }
    return paths
  }

  /** Removes a file of acknowledgements whose segment was removed. */
  #removeAcknowledgements(path: string, names: readonly string[]): void {
    const segment = basename(path).replace(/\.ack$/, '.seg')
    if (segmentNumber(segment) === undefined || names.includes(segment)) return
    if (acknowledgementsOf(join(dirname(path), segment)) !== path) return
    try {
      this.#options.fs.remove(path)
    } catch {
      // The segments after it are still read.
    }
  }
}
