import { describeCause } from '../errors/cause.ts'
import type {
  RecoveredMessage,
  Spool,
  SpoolClient,
  SpoolConnection,
  SpooledEntry,
  SpoolRecord,
} from '../line/spool.ts'
import type { Holder, StoredMessage } from '../line/store.ts'

/** Maximum bytes that are read ahead: enough for several requests. */
const READ_AHEAD_BYTES = 2_097_152

/** A message in memory, which is also in the spool unless the spool has refused it. */
interface HeldMessage extends StoredMessage {
  record?: SpoolRecord | 'refused' | undefined
}

/** Represents a message that is only in the spool. */
const SPILLED: StoredMessage = { bytes: 0 }

/**
 * A group of consecutive events that are only in the spool. They differ only by message, number and kind, so that even millions
 * of events share one entry.
 */
interface Row {
  readonly entry: SpooledEntry
  readonly kinds: unknown[]
  /** Index of the first event whose message has not been read back from the spool. */
  next: number
}

/**
 * Connects a client with its spool, for implementations of {@link Spool.attach}. Stored messages are appended to the spool, and
 * messages whose event has its outcome are acknowledged. Messages that are only in the spool are read again when there is room
 * in memory.
 */
export function connect(spool: Spool, client: SpoolClient): SpoolConnection {
  return new Connection(spool, client)
}

class Connection implements SpoolConnection {
  readonly #spool: Spool
  readonly #client: SpoolClient
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /** Oldest first. */
  #rows: Row[] = []
  length = 0
  /** Number of messages of this client whose events were given up, but which the spool will still return. */
  #abandoned = 0
  /** Number of events in memory that the spool has refused. */
  #unkept = 0
  #isPaused = false
  #isClosed = false
  #hasWarned = false
  #wake: (() => void) | undefined

  constructor(spool: Spool, client: SpoolClient) {
    this.#spool = spool
    this.#client = client
    if (!client.isDisabled) void this.#readBack()
  }

  put(json: string): StoredMessage {
    return this.#client.memory.put(json)
  }

  keep(stored: HeldMessage): void {
    const { memory } = this.#client
    stored.record = this.#append(memory.view(stored), true) ?? 'refused'
    if (stored.record === 'refused') this.#unkept++
    if (this.#isPaused) this.#resume()
  }

  has({ record }: HeldMessage): boolean {
    return record !== undefined
  }

  read(stored: StoredMessage): string {
    return this.#client.memory.read(stored)
  }

  copy(holders: readonly Holder[], target: Uint8Array, at: number): void {
    this.#client.memory.copy(holders, target, at)
  }

  release(stored: HeldMessage): void {
    this.#client.memory.release(stored)
    const { record } = stored
    stored.record = undefined
    if (record === 'refused') this.#unkept--
    else if (record !== undefined) this.#guard(() => this.#spool.acknowledge(record))
  }

  spill(entry: SpooledEntry): boolean {
    const { memory } = this.#client
    const { stored } = entry
    if (stored === undefined || this.#append(memory.view(stored), false) === undefined) return false
    memory.release(stored)
    this.length++
    entry.stored = SPILLED
    if (this.#isPaused) this.#resume()
    const last = this.#rows[this.#rows.length - 1]
    if (last !== undefined && isNext(last, entry)) last.kinds.push(entry.kind)
    else this.#rows.push({ entry, kinds: [entry.kind], next: 0 })
    return true
  }

  refill(): void {
    if (this.#wake === undefined || !this.#mayRead) return
    const wake = this.#wake
    this.#wake = undefined
    wake()
  }

  async secure(): Promise<boolean> {
    try {
      const isSafe = await this.#spool.sync()
      return isSafe && this.#unkept === 0
    } catch {
      return false
    }
  }

  defer(stored: HeldMessage): boolean {
    const { record } = stored
    if (record === undefined || record === 'refused' || !record.isKept) return false
    // Without the record, `release` does not acknowledge the message.
    stored.record = undefined
    return true
  }

  pause(): void {
    this.#isPaused = true
  }

  abandon(): void {
    const rows = this.#rows
    this.#rows = []
    this.#abandoned += this.length
    this.length = 0
    for (const row of rows) {
      while (row.next < row.kinds.length) {
        this.#client.conclude(takeFrom(row), true)
        row.next++
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.refill()
    try {
      await this.#spool.close()
    } catch (error) {
      this.#warnOf(error)
    }
  }

  get #mayRead(): boolean {
    if (this.#isClosed) return true
    const { limits } = this.#client
    const waiting = this.#client.waiting()
    const hasRoom =
      waiting.bytes < Math.min(READ_AHEAD_BYTES, limits.maxQueueBytes / 2) &&
      waiting.size < Math.max(1, limits.maxQueueSize / 2)
    return hasRoom && (this.length > 0 || !this.#isPaused)
  }

  /** Reads messages from the spool whenever there is room in memory. Never rejects. */
  async #readBack(): Promise<void> {
    try {
      for await (const messages of this.#spool.recover()) {
        await this.#room()
        if (this.#isClosed) return
        for (const message of messages) this.#take(message)
        await this.#room()
        if (this.#isClosed) return
      }
    } catch (error) {
      this.#warnOf(error)
    }
  }

  async #room(): Promise<void> {
    while (!this.#mayRead) {
      await new Promise<void>((wake) => {
        this.#wake = wake
      })
    }
  }

  #resume(): void {
    this.#isPaused = false
    this.refill()
  }

  #take({ record, isOwn, message }: RecoveredMessage): void {
    const entry = isOwn ? this.#nextEntry() : undefined
    if (message === undefined) {
      if (entry !== undefined) this.#client.conclude(entry, false)
      return this.#guard(() => this.#spool.acknowledge(record))
    }
    const json = this.#decoder.decode(message)
    const stored: HeldMessage = this.#client.memory.put(json)
    stored.record = record
    if (this.#client.admit(json, stored, entry)) return
    // The bytes are intact, but are not a message.
    this.release(stored)
    if (entry !== undefined) this.#client.conclude(entry, false)
  }

  #nextEntry(): SpooledEntry | undefined {
    if (this.#abandoned > 0) {
      this.#abandoned--
      return undefined
    }
    const row = this.#rows[0]
    if (row === undefined) return undefined
    this.length--
    const entry = takeFrom(row)
    row.next++
    if (row.next === row.kinds.length) this.#rows.shift()
    return entry
  }

  #append(message: Uint8Array, isHeld: boolean): SpoolRecord | undefined {
    try {
      return this.#spool.append(message, isHeld)
    } catch (error) {
      this.#warnOf(error)
      return undefined
    }
  }

  #guard(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#warnOf(error)
    }
  }

  /** Warns once that the spool has thrown. A spool of this package never throws, but one that a user has written may. */
  #warnOf(error: unknown): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    this.#client.warn(`the spool failed: ${describeCause(error)}`)
  }
}

function takeFrom({ entry, kinds, next }: Row): SpooledEntry {
  if (kinds.length === 1) return entry
  // The other events may have another outcome than the first event, so each gets its own object.
  return { ...entry, kind: kinds[next], seq: (entry.seq ?? 0) + next, ctx: undefined }
}

/** Whether the event follows the last event of the group and has no other differences than its message and its kind. */
function isNext({ entry: first, kinds }: Row, entry: SpooledEntry): boolean {
  return (
    first.callback === undefined &&
    entry.callback === undefined &&
    entry.seq === (first.seq ?? 0) + kinds.length &&
    first.passedPlugins === entry.passedPlugins
  )
}
