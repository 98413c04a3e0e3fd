import * as nodeFiles from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describeCause } from '../errors/cause.ts'
import { isRecord } from '../message/describe.ts'
import type { Journal, JournalClient, JournalRecord, RecoveredMessage } from '../settings/journal.ts'
import { type Files, Folder } from './folder.ts'
import { type Processes, systemProcesses } from './owner.ts'
import { codeOf } from './rights.ts'

const MAX_FILE_MESSAGES = 1_000
const MAX_FILE_BYTES = 1_000_000
const SYNC_MS = 1_000
/** After a failure, nothing is written for this long. */
const RETRY_MS = 1_000
const BEAT_MS = 15_000
const NEWLINE = 10
const LINE_BREAK = Uint8Array.of(NEWLINE)
const SYNC_DENIED =
  'the permission model of Node.js denies fsync: events of the spool survive the process, but perhaps not a power cut'

export interface FileJournalOptions {
  readonly path: string
  readonly client: JournalClient
  readonly files?: Files
  readonly processes?: Processes
}

class JournalFile implements JournalRecord {
  readonly path: string
  /** Open while it may be written to, and until it was synced. */
  file: number | undefined
  /** Events without an outcome. */
  open = 0
  count = 0
  bytes = 0
  isDirty = false
  isSyncing = false
  /** `false` when somebody has removed it, or its data may not be on the disk although it was synced. */
  isKept = true

  constructor(path: string, file?: number) {
    this.path = path
    this.file = file
  }
}

/**
 * Messages in the files of a folder. Files are only appended to, and removed when each of their events has its outcome. So after
 * a crash, some events are sent again; the service drops them by their `messageId`.
 */
export class FileJournal implements Journal {
  readonly #files: Files
  readonly #folder: Folder
  readonly #client: JournalClient
  /** All files with events that have no outcome, and the one that is written to. */
  readonly #all = new Set<JournalFile>()
  #current: JournalFile | undefined
  /** Names of files to take over; `undefined` before the first scan. */
  #found: string[] | undefined
  /** Told of once. */
  readonly #unreadable = new Set<string>()
  #isFolderDirty = false
  #syncing: Promise<boolean> = Promise.resolve(true)
  #cancelSync: (() => void) | undefined
  #cancelBeat: () => void = () => {}
  #beatMs: number
  #retryMs = Number.NEGATIVE_INFINITY
  #isTroubled = false
  #isSyncAllowed = true
  #isClosed = false

  constructor({ path, client, files = nodeFiles, processes = systemProcesses() }: FileJournalOptions) {
    this.#files = files
    this.#client = client
    const { clock } = client
    this.#folder = new Folder({ files, path, processes, clock })
    this.#beatMs = clock.monotonic()
    this.#armBeat()
  }

  append(messages: readonly Uint8Array[]): readonly (JournalRecord | undefined)[] {
    const records: (JournalRecord | undefined)[] = []
    const nowMs = this.#client.clock.monotonic()
    // If the process was frozen, others may have taken over its files.
    if (nowMs > this.#beatMs + 2 * BEAT_MS) this.#beat()
    else if (this.#current !== undefined && !this.#files.existsSync(this.#current.path)) this.#lookAtAll()
    try {
      while (!this.#isClosed && nowMs >= this.#retryMs && records.length < messages.length) {
        const file = this.#writable()
        const count = this.#write(file, messages, records.length)
        file.open += count
        for (let index = 0; index < count; index++) records.push(file)
        this.#isTroubled = false
      }
    } catch (error) {
      this.#rotate()
      this.#retryMs = nowMs + RETRY_MS
      this.#tell(describeCause(error))
    }
    if (records.length > 0) this.#cancelSync ??= this.#client.clock.setTimer(() => void this.sync(), SYNC_MS)
    while (records.length < messages.length) records.push(undefined)
    return records
  }

  settled(record: JournalRecord): void {
    const file = record as JournalFile
    file.open--
    if (file.open > 0 || this.#isClosed) return
    if (file !== this.#current || file.file === undefined) return this.#remove(file)
    try {
      this.#files.ftruncateSync(file.file, 0)
      file.count = 0
      file.bytes = 0
      file.isDirty = false
    } catch {
      this.#remove(file)
    }
  }

  sync(): Promise<boolean> {
    // One after the other: one that has begun may not have what was appended since.
    this.#syncing = this.#syncing.then(() => this.#sync())
    return this.#syncing
  }

  recover(): readonly RecoveredMessage[] {
    if (this.#isClosed) return []
    this.#found ??= this.#folder.scan()
    let messages: readonly RecoveredMessage[] = []
    while (messages.length === 0 && this.#found.length > 0) {
      messages = this.#takeOver(this.#found.shift() as string)
    }
    return messages
  }

  async close(): Promise<void> {
    if (!this.#isClosed) await this.sync()
    this.closeAtExit()
  }

  closeAtExit(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#cancelSync?.()
    this.#cancelBeat()
    for (const file of this.#all) {
      if (file.open === 0) this.#remove(file)
      else this.#release(file)
    }
    this.#folder.close()
  }

  /** The file for the next message. @throws when there is none, and none can be made. */
  #writable(): JournalFile {
    const current = this.#current
    if (current !== undefined && current.count < MAX_FILE_MESSAGES && current.bytes < MAX_FILE_BYTES)
      return current
    this.#rotate()
    const { path, file } = this.#folder.create()
    this.#current = new JournalFile(path, file)
    this.#all.add(this.#current)
    this.#isFolderDirty = true
    return this.#current
  }

  /** Writes messages until the file is full. Returns how many. @throws when none of them could be written. */
  #write(file: JournalFile, messages: readonly Uint8Array[], from: number): number {
    let to = from
    let bytes = 0
    while (
      to < messages.length &&
      to - from + file.count < MAX_FILE_MESSAGES &&
      bytes + file.bytes < MAX_FILE_BYTES
    ) {
      bytes += (messages[to] as Uint8Array).length + 1
      to++
    }
    const lines = Buffer.concat(messages.slice(from, to).flatMap((message) => [message, LINE_BREAK]))
    const descriptor = file.file as number
    try {
      for (let done = 0; done < bytes; )
        done += this.#files.writeSync(descriptor, lines, done, bytes - done, file.bytes + done)
    } catch (error) {
      try {
        this.#files.ftruncateSync(descriptor, file.bytes)
      } catch {
        // The last line stays torn, which costs only itself.
      }
      throw error
    }
    file.bytes += bytes
    file.count += to - from
    file.isDirty = true
    return to - from
  }

  /** Once, until something could be written again. */
  #tell(problem: string): void {
    if (!this.#isTroubled)
      this.#client.warn(`the spool cannot keep events, which wait in memory alone: ${problem}`)
    this.#isTroubled = true
  }

  #rotate(): void {
    const file = this.#current
    this.#current = undefined
    if (file === undefined) return
    if (file.open === 0) this.#remove(file)
    else if (!file.isDirty) this.#release(file)
  }

  #remove(file: JournalFile): void {
    this.#all.delete(file)
    if (file === this.#current) this.#current = undefined
    this.#release(file)
    try {
      this.#files.unlinkSync(file.path)
    } catch {
      // Somebody has removed it.
    }
  }

  #release(file: JournalFile): void {
    const descriptor = file.file
    // Otherwise the number of the descriptor could be used again before the sync has ended.
    if (descriptor === undefined || file.isSyncing) return
    file.file = undefined
    try {
      this.#files.closeSync(descriptor)
    } catch {
      // It is closed.
    }
  }

  #lookAtAll(): void {
    for (const file of this.#all) {
      if (!this.#files.existsSync(file.path)) this.#giveUp(file, 'its files were removed')
    }
  }

  #giveUp(file: JournalFile, problem: string): void {
    if (!file.isKept) return
    file.isKept = false
    if (file === this.#current) this.#rotate()
    this.#tell(problem)
  }

  async #sync(): Promise<boolean> {
    this.#cancelSync?.()
    this.#cancelSync = undefined
    this.#lookAtAll()
    const syncs = [...this.#all].filter(({ isDirty }) => isDirty).map((file) => this.#syncFile(file))
    if (this.#isFolderDirty) syncs.push(this.#syncFolder())
    await Promise.all(syncs)
    return [...this.#all].every(({ open, isKept }) => open === 0 || isKept)
  }

  async #syncFile(file: JournalFile): Promise<void> {
    file.isDirty = false
    file.isSyncing = true
    try {
      await promisify(this.#files.fsync)(file.file as number)
    } catch (error) {
      // The system may have dropped the data, and a second sync would not tell.
      if (codeOf(error) !== 'ERR_ACCESS_DENIED') this.#giveUp(file, describeCause(error))
      else if (this.#isSyncAllowed) this.#client.warn(SYNC_DENIED)
      this.#isSyncAllowed &&= codeOf(error) !== 'ERR_ACCESS_DENIED'
    }
    file.isSyncing = false
    if (this.#isClosed || (file !== this.#current && !file.isDirty)) this.#release(file)
  }

  async #syncFolder(): Promise<void> {
    this.#isFolderDirty = false
    try {
      const descriptor = this.#files.openSync(this.#folder.path, 'r')
      await promisify(this.#files.fsync)(descriptor).finally(() => this.#files.closeSync(descriptor))
    } catch {
      // On some systems, a directory cannot be opened or synced, and its entries need no sync.
    }
  }

  #takeOver(name: string): RecoveredMessage[] {
    const bytes = this.#read(name)
    const path = bytes === undefined ? undefined : this.#folder.take(name)
    if (bytes === undefined || path === undefined) return []
    const file = new JournalFile(path)
    this.#all.add(file)
    const { messages, damaged } = readLines(bytes)
    if (damaged > 0) {
      const lines = `${damaged} ${damaged === 1 ? 'line' : 'lines'} of ${join(this.#folder.path, name)}`
      this.#client.warn(`${lines} cannot be read; the other ${messages.length} are sent`)
    }
    file.open = messages.length
    if (messages.length === 0) this.#remove(file)
    return messages.map((message) => ({ record: file, message }))
  }

  #read(name: string): Buffer | undefined {
    const path = join(this.#folder.path, name)
    try {
      return this.#files.readFileSync(path)
    } catch (error) {
      // The next scan finds it again, unless another process has taken it over.
      if (codeOf(error) !== 'ENOENT' && !this.#unreadable.has(name)) {
        this.#unreadable.add(name)
        this.#client.warn(`${path} cannot be read, and its events are not sent: ${describeCause(error)}`)
      }
      return undefined
    }
  }

  #armBeat(): void {
    this.#cancelBeat = this.#client.clock.setTimer(() => {
      this.#armBeat()
      this.#beat()
      this.#found = this.#folder.scan()
      if (this.#found.length > 0) this.#client.onFound()
    }, BEAT_MS)
  }

  #beat(): void {
    this.#beatMs = this.#client.clock.monotonic()
    this.#folder.beat()
    this.#lookAtAll()
  }
}

/** The lines that are whole messages, and the number of the others. */
function readLines(bytes: Buffer): { messages: Uint8Array[]; damaged: number } {
  const messages: Uint8Array[] = []
  let damaged = 0
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start)
    const end = newline < 0 ? bytes.length : newline
    const line = bytes.subarray(start, end)
    // Without a line break at its end, a line was not written to its end.
    if (newline >= 0 && isMessage(line)) messages.push(line)
    else damaged++
    start = end + 1
  }
  return { messages, damaged }
}

function isMessage(line: Buffer): boolean {
  try {
    const message: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line))
    return (
      isRecord(message) && typeof message['type'] === 'string' && typeof message['messageId'] === 'string'
    )
  } catch {
    return false
  }
}
