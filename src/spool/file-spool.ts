import { resolve } from 'node:path'
import { nextTick } from 'node:process'
import { describeCause } from '../errors/cause.ts'
import { SettingsError } from '../errors/errors.ts'
import type { RecoveredMessage, Spool, SpoolClient, SpoolConnection, SpoolRecord } from '../line/spool.ts'
import { type Clock, soon, systemClock } from '../runtime/clock.ts'
import { detectRuntime } from '../runtime/detect.ts'
import { warn } from '../runtime/warn.ts'
import { connect } from './connection.ts'
import { cancelFlushOnExit, flushOnExit, isExiting } from './exit.ts'
import { type FileSystem, isShortage, nodeFileSystem } from './file-system.ts'
import { Folders } from './folders.ts'
import { type FileSpoolOptions, resolveSpoolOptions } from './options.ts'
import { OrphanedSegments } from './orphaned-segments.ts'
import { type Processes, systemProcesses } from './owner.ts'
import { FIRST_RECORD, FileRecord, type Segment } from './segment.ts'
import { SegmentLog } from './segment-log.ts'
import { ReadingRoom, SegmentReader } from './segment-reader.ts'

/** Interval of the heartbeat, and of the search for files of dead processes. */
const BEAT_MS = 15_000
const READ_RETRY_MS = 1_000

/** Tests pass fakes. */
export interface SpoolHost {
  readonly fs: FileSystem
  readonly clock: Clock
  readonly processes: Processes
}

/** The state of a spool. */
export interface FileSpoolStats {
  /** Bytes of the files of this process, including files adopted from earlier processes. */
  readonly bytes: number
  /** How often a file was synced to the disk. */
  readonly syncs: number
  /** Number of files that were partly unreadable. The newest ten of these files are kept, with names that end in `.bad`. */
  readonly damaged: number
  /** Whether events can be written now: `false` while writing fails, and after the spool is closed. */
  readonly isWriting: boolean
}

/**
 * Keeps events in files from the call until their outcome, so that they survive the process: the next process with the same
 * directory delivers them. For Node.js, Bun and Deno. Each client needs its own `FileSpool`.
 *
 * @example
 * import { FileSpool } from 'trackpost/spool'
 *
 * const spool = new FileSpool({ directory: '/var/lib/shop/events' })
 * const analytics = new Analytics({ writeKey: process.env.TRACKPOST_WRITE_KEY, spool })
 */
export class FileSpool implements Spool {
  readonly #clock: Clock
  readonly #folders: Folders
  readonly #log: SegmentLog
  readonly #orphans: OrphanedSegments
  readonly #room = new ReadingRoom()
  /** Segments (files of the spool) with acknowledgements of this turn. */
  readonly #touched = new Set<Segment>()
  /** Segments whose acknowledgement file may be open. */
  readonly #acknowledged = new Set<Segment>()
  #warn = (text: string): void => warn('spool', text)
  #isOpen = false
  #isAttached = false
  #isTurnScheduled = false
  #isClosed = false
  #cancelBeat: () => void = () => {}
  /** Wakes `recover` when it waits for messages. */
  #wake: () => void = () => {}
  /** Ends the wait before the next attempt to read. */
  #endRest: () => void = () => {}

  /**
   * Creates the directory if it does not exist, and checks that it can be used.
   *
   * @throws SettingsError when an option is invalid, or the directory cannot be created or written to; the message says why.
   */
  constructor(options: FileSpoolOptions)
  constructor(options: FileSpoolOptions, host: Partial<SpoolHost> = {}) {
    const { fs = nodeFileSystem, clock = systemClock, processes = systemProcesses() } = host
    const { directory, ...limits } = resolveSpoolOptions(options)
    // Cloudflare Workers have `node:fs` with `nodejs_compat`, but its files are lost at the end of the request.
    if (detectRuntime().jsRuntime === 'cloudflare-worker') {
      throw new SettingsError(
        'spool',
        'Cloudflare Workers have no disk; leave it out there, and use the setting waitUntil, or await flush()',
      )
    }
    const path = resolve(directory)
    this.#clock = clock
    try {
      this.#folders = new Folders({
        fs,
        directory: path,
        processes,
        now: () => clock.now(),
        warn: (text) => this.#warn(text),
      })
      // The directory is not locked before a client attaches: if the constructor of the client failed, nothing would close the
      // spool.
      this.#folders.close()
    } catch (error) {
      throw new SettingsError('spool.directory', `${path} cannot be used: ${describeCause(error)}`)
    }
    const shared = { fs, folders: this.#folders, warn: (text: string): void => this.#warn(text) }
    this.#log = new SegmentLog({ ...shared, ...limits, clock, onWaiting: () => this.#wake() })
    this.#orphans = new OrphanedSegments({
      ...shared,
      room: this.#room,
      isSynced: limits.sync !== 'never',
      account: (bytes) => {
        this.#log.usedBytes += bytes
      },
    })
  }

  /** The state of the spool at this instant. */
  get stats(): FileSpoolStats {
    const { usedBytes, syncs, isTroubled } = this.#log
    return {
      bytes: usedBytes,
      syncs,
      damaged: this.#orphans.damaged,
      isWriting: !isTroubled && !this.#isClosed,
    }
  }

  /** Called by the constructor of the client only. */
  attach(client: SpoolClient): SpoolConnection {
    if (this.#isAttached || this.#isClosed) {
      throw new SettingsError(
        'spool',
        'expected a separate one for each client, got one that is in use or closed',
      )
    }
    this.#isAttached = true
    this.#open()
    this.#warn = (text) => client.warn(text)
    return connect(this, client)
  }

  append(message: Uint8Array, isHeld: boolean): SpoolRecord | undefined {
    if (this.#isClosed) return undefined
    this.#open()
    const record = this.#log.append(message, isHeld)
    this.#scheduleTurn()
    return record
  }

  sync(): Promise<boolean> {
    return this.#log.sync()
  }

  acknowledge(record: SpoolRecord): void {
    if (this.#isClosed || !(record instanceof FileRecord) || record.isAcknowledged) return
    record.isAcknowledged = true
    record.segment.acknowledge(record)
    this.#touched.add(record.segment)
    this.#scheduleTurn()
  }

  async *recover(): AsyncGenerator<readonly RecoveredMessage[], void, undefined> {
    this.#open()
    this.#orphans.scan()
    while (!this.#isClosed) {
      const messages = (await this.#readRun()) ?? (await this.#orphans.next())
      if (messages === undefined) {
        this.#room.leave()
        await this.#somethingToRead()
      } else if (!this.#isClosed) yield messages
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#endTurn()
    this.#isClosed = true
    cancelFlushOnExit(this)
    this.#cancelBeat()
    this.#wake()
    this.#endRest()
    this.#orphans.close()
    await this.#log.close()
    for (const segment of this.#acknowledged) segment.closeAcknowledgements()
    this.#acknowledged.clear()
    try {
      this.#folders.close()
    } catch {
      // The directory was removed, so there is no lock to remove.
    }
  }

  /** @internal Writes the messages of this turn at once, because the process ends. */
  flush(): void {
    this.#endTurn()
  }

  #open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#showLife()
    this.#armBeat()
    flushOnExit(this)
  }

  /** The messages of a turn are written after all microtasks, which may add messages, and before any I/O callback. */
  #scheduleTurn(): void {
    // After the `exit` listeners, nothing else runs.
    if (isExiting()) return this.#endTurn()
    if (this.#isTurnScheduled) return
    this.#isTurnScheduled = true
    soon(() => nextTick(this.#endTurn))
  }

  readonly #endTurn = (): void => {
    this.#isTurnScheduled = false
    if (this.#isClosed) return
    this.#log.flush()
    for (const segment of this.#touched) this.#concludeTurn(segment)
    this.#touched.clear()
  }

  #concludeTurn(segment: Segment): void {
    if (segment.writer === undefined) this.#orphans.collect(segment)
    else this.#log.collect(segment)
    if (segment.isRemoved || (segment.writer !== undefined && !segment.writer.isOpen && segment.isMoving))
      return
    this.#acknowledged.add(segment)
    try {
      segment.flushAcknowledgements()
    } catch {
      // Without these acknowledgements, some messages may be sent twice, which is no reason to stop.
    }
  }

  async #readRun(): Promise<readonly RecoveredMessage[] | undefined> {
    const run = this.#log.runs[0]
    if (run === undefined) return undefined
    try {
      const reader = new SegmentReader(run.segment, true, this.#room)
      const { messages, end } = await reader.read(Math.max(run.start, FIRST_RECORD), run.end)
      const all = run.advance(messages, end)
      if (run.start >= run.end) this.#log.runs.shift()
      return all
    } catch (error) {
      if (isShortage(error)) return this.#readLater()
      this.#log.runs.shift()
      return run.advance([], run.end)
    } finally {
      run.segment.closeReader()
    }
  }

  async #readLater(): Promise<readonly RecoveredMessage[]> {
    await new Promise<void>((end) => {
      const cancel = this.#clock.setTimer(end, READ_RETRY_MS)
      this.#endRest = () => {
        cancel()
        end()
      }
    })
    return []
  }

  #somethingToRead(): Promise<void> {
    return new Promise((wake) => {
      this.#wake = wake
      // `#wake` may have been called while nothing was waiting.
      if (this.#isClosed || this.#log.runs.length > 0 || !this.#orphans.isEmpty) wake()
    })
  }

  #armBeat(): void {
    this.#cancelBeat = this.#clock.setTimer(() => {
      this.#armBeat()
      this.#beat()
    }, BEAT_MS)
  }

  #showLife(): void {
    try {
      this.#folders.beat()
    } catch {
      // The directory cannot be written to, which the segment log reports.
    }
  }

  #beat(): void {
    this.#showLife()
    void this.#log.check()
    for (const segment of this.#acknowledged) if (segment.isRemoved) this.#acknowledged.delete(segment)
    if (!this.#isAttached) return
    this.#orphans.scan()
    if (!this.#orphans.isEmpty) this.#wake()
  }
}
