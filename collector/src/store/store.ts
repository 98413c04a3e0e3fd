import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { NewEvent } from '../new-event.ts'
import { Changes } from './changes.ts'
import { type Written, writeEvents, writeRequests } from './commit.ts'
import { numbersOf } from './cursor.ts'
import { cannotOpen, DAMAGED, Database, isDamage } from './database.ts'
import { Deliveries } from './deliveries.ts'
import { MessageIds } from './message-ids.ts'
import type { NewRequest } from './new-request.ts'
import { Persons } from './persons.ts'
import { among, raw, type Sql, sql } from './sql.ts'
import { countEvents, countRequests, type Group, Totals } from './totals.ts'

/** Events of one commit, which blocks the event loop. */
const EVENTS_PER_COMMIT = 2000
/** Events that may wait for the next commits. */
const MAX_WAITING = 50_000
/** Records of requests are dropped beyond this number; those of one turn of the event loop are written together. */
const MAX_WAITING_REQUESTS = 10_000
/** Shortest time between two commits that have nothing but records of requests. */
const REQUESTS_REST_MS = 100
/** Requests whose whole bodies are kept; of older ones, this much. */
const BODIES_KEPT = 1000
const OLD_BODY_CHARACTERS = 2048
/** Bytes of messages after which the size of the file is looked at. */
const BYTES_BETWEEN_CHECKS = 16 * 1024 * 1024
/** A file over its limit is brought to this share of it, so that not every commit has to delete. */
const TRIM_TO = 0.95

const DEFAULT_KEEP = 100_000
const DEFAULT_MAX_BYTES = 2 * 1024 ** 3

export interface StoreOptions {
  /** A file path, or `:memory:`. */
  path: string
  clock: Clock
  onFault(what: string, cause: unknown): void
  /** The newest events that are kept; default 100,000. */
  keep?: number | undefined
  /** Bytes of the file; default 2 GB. Beyond them, the oldest events are deleted. */
  maxBytes?: number | undefined
}

/** The oldest events, up to this one. */
interface Deleted {
  lastSeq: number
  groups: Group[]
}

interface Append {
  events: readonly NewEvent[]
  resolve(written: Written[]): void
  reject(cause: unknown): void
}

/**
 * The recorded events and requests, in one SQLite file that this process alone has open.
 *
 * Everything that was appended in a turn of the event loop is written in one transaction, and each `append` resolves after it.
 */
export class Store {
  readonly database: Database
  readonly persons: Persons
  readonly messageIds: MessageIds
  readonly changes: Changes
  readonly totals = new Totals()
  readonly deliveries: Deliveries
  readonly keep: number
  readonly #options: StoreOptions
  #appends: Append[] = []
  #waitingEvents = 0
  #requests: NewRequest[] = []
  #isScheduled = false
  #cancelRequests: (() => void) | undefined
  #lastSeq: number
  #lastRequestId: number
  #lastCutRequestId = 0
  #bytesSinceCheck = 0
  #failure: unknown
  #isDamaged = false
  #isClosed = false

  /** @throws ConfigError when the file cannot be opened, or is not one of this program. */
  constructor(options: StoreOptions) {
    this.#options = options
    this.keep = options.keep ?? DEFAULT_KEEP
    this.database = new Database(options.path)
    const { database } = this
    const newest = (column: string) => database.number(`SELECT max(${column}) AS value FROM event`)
    try {
      this.persons = new Persons(database)
      this.messageIds = new MessageIds(database)
      const id = this.#meta('id', () => randomBytes(6).toString('hex'))
      const lastKept = this.#meta('last_seq', () => 0)
      this.#lastSeq = Math.max(newest('seq'), lastKept)
      const lastRequest = database.number('SELECT max(id) AS value FROM request')
      this.#lastRequestId = Math.max(newest('request_id'), lastRequest)
      // No earlier file had this epoch, so a page that is still open in a browser does not mix the events of two files.
      const epoch = this.#meta('epoch', () => options.clock.now())
      this.changes = new Changes(this.#lastSeq, epoch)
      this.totals.addEvents(countEvents(database, raw('TRUE')), 1)
      this.totals.addRequests(countRequests(database, raw('TRUE')), 1)
      this.deliveries = new Deliveries(database, id, options.clock, () => this.changes.changed())
    } catch (cause) {
      database.close()
      throw cannotOpen(options.path, cause)
    }
    this.#trim()
  }

  #meta<T extends string | number>(key: string, first: () => T): T {
    const row = this.database.get<{ value: T }>(sql`SELECT value FROM meta WHERE key = ${key}`)
    if (row !== undefined) return row.value
    const value = first()
    this.#setMeta(key, value)
    return value
  }

  #setMeta(key: string, value: string | number): void {
    this.database.run(sql`INSERT OR REPLACE INTO meta VALUES (${key}, ${value})`)
  }

  nextRequestId(): number {
    return ++this.#lastRequestId
  }

  /**
   * Resolves with the result of each event, in order, once the events are stored. Rejects when they cannot be; then none of them is
   * stored.
   */
  append(events: readonly NewEvent[]): Promise<Written[]> {
    if (this.#isClosed) return Promise.reject(new Error('the store is closed'))
    if (events.length === 0) return Promise.resolve([])
    if (this.#waitingEvents > MAX_WAITING)
      return Promise.reject(new Error('too many events wait for the disk'))
    this.#waitingEvents += events.length
    this.#schedule()
    return new Promise((resolve, reject) => this.#appends.push({ events, resolve, reject }))
  }

  /** Never throws and never waits: a record may be lost in a crash, and is dropped when too many requests arrive. */
  appendRequest(request: NewRequest): void {
    if (this.#isClosed || this.#requests.length >= MAX_WAITING_REQUESTS) return
    this.#requests.push(request)
    // With the next events; if none come, soon after.
    if (!this.#isScheduled)
      this.#cancelRequests ??= this.#options.clock.setTimer(() => this.#flush(), REQUESTS_REST_MS)
  }

  /** `setImmediate` runs after all sockets that have bytes were read, so that their requests share the commit. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    this.#cancelRequests?.()
    this.#cancelRequests = undefined
    if (this.#isClosed) return
    let length = 0
    let count = 0
    for (const { events } of this.#appends) {
      if (length > 0 && count + events.length > EVENTS_PER_COMMIT) break
      length++
      count += events.length
    }
    this.#waitingEvents -= count
    this.#commitAll(this.#appends.splice(0, length), this.#requests.splice(0))
    if (this.#appends.length > 0) this.#schedule()
  }

  #commitAll(group: readonly Append[], requests: readonly NewRequest[]): void {
    if (group.length === 0 && requests.length === 0) return
    try {
      this.#commit(group, requests)
    } catch (cause) {
      if (requests.length > 0) {
        this.#options.onFault('requests could not be recorded', cause)
        // Records of requests are only shown to people. No event may be lost because of them.
        this.#commitAll(group, [])
      } else if (group.length > 1) {
        // One append may have what cannot be written. The others are committed without it.
        for (const one of group) this.#commitAll([one], [])
      } else group[0]?.reject(cause)
    }
  }

  #commit(group: readonly Append[], requests: readonly NewRequest[]): void {
    const { database, persons, messageIds, totals } = this
    const events = group.flatMap((one) => one.events)
    let done: { written: Written[]; old: Deleted | undefined }
    try {
      this.#requireSameFile()
      done = database.transaction(() => {
        writeRequests(database, requests)
        const written = writeEvents({ database, persons, messageIds }, events, this.#lastSeq + 1)
        // In the same transaction: both change the same pages of the indexes.
        return { written, old: this.#deleteOldest(totals.events + events.length - this.keep) }
      })
      // What was written to a file that was removed during the transaction is lost.
      this.#requireSameFile()
      this.#failure = undefined
    } catch (cause) {
      persons.forget()
      this.#failure = cause
      throw cause
    }
    const { written, old } = done
    this.#lastSeq += events.length
    for (const { source, kind, reason } of written) totals.count(source, kind, reason, 1)
    this.#forget(old)
    const refused = requests.filter(({ status }) => status >= 400).length
    totals.addRequests({ requests: requests.length, refused }, 1)
    this.#bytesSinceCheck += events.reduce((sum, { body }) => sum + (body?.length ?? 0), 0)
    let start = 0
    for (const { events: own, resolve } of group) {
      resolve(written.slice(start, start + own.length))
      start += own.length
    }
    this.changes.committed(written)
    this.#trim()
  }

  #requireSameFile(): void {
    if (!this.database.isSameFile) throw new Error('the database file was removed or replaced')
  }

  /** Deletes what is beyond the limits. */
  #trim(): void {
    const { database, keep, totals } = this
    const { maxBytes = DEFAULT_MAX_BYTES, onFault } = this.#options
    try {
      let tooMany = totals.events - keep
      if (this.#bytesSinceCheck >= Math.min(BYTES_BETWEEN_CHECKS, maxBytes / 20)) {
        this.#bytesSinceCheck = 0
        const { usedBytes } = database
        const share = (usedBytes - TRIM_TO * maxBytes) / usedBytes
        if (usedBytes > maxBytes) tooMany = Math.max(tooMany, Math.ceil(totals.events * share))
      }
      if (tooMany > 0) this.#forget(database.transaction(() => this.#deleteOldest(tooMany)))
      if (totals.requests > keep + keep / 100) this.#deleteOldestRequests(totals.requests - keep)
      this.#cutOldBodies()
    } catch (cause) {
      onFault('old events could not be deleted', cause)
    }
  }

  /** Deletes in a transaction of the caller, who calls `#forget` when it is over. */
  #deleteOldest(count: number): Deleted | undefined {
    if (count <= 0) return undefined
    const lastSeq = this.database.number(
      sql`SELECT seq AS value FROM event ORDER BY seq LIMIT 1 OFFSET ${count - 1}`,
    )
    return { lastSeq, groups: this.#delete(sql`seq <= ${lastSeq}`) }
  }

  #forget(old: Deleted | undefined): void {
    if (old === undefined) return
    this.totals.addEvents(old.groups, -1)
    this.messageIds.forget(old.lastSeq)
  }

  #deleteOldestRequests(count: number): void {
    const { database, totals } = this
    const old = sql`id <= (SELECT id FROM request ORDER BY id LIMIT 1 OFFSET ${count - 1})`
    const gone = countRequests(database, old)
    database.run(sql`DELETE FROM request WHERE ${old}`)
    totals.addRequests(gone, -1)
  }

  #cutOldBodies(): void {
    const cutTo = this.#lastRequestId - BODIES_KEPT
    if (cutTo - this.#lastCutRequestId < BODIES_KEPT / 10) return
    this.database.run(
      sql`UPDATE request SET body = substr(body, 1, ${OLD_BODY_CHARACTERS}), bodyIsCut = 1
          WHERE id BETWEEN ${this.#lastCutRequestId} AND ${cutTo} AND length(body) > ${OLD_BODY_CHARACTERS}`,
    )
    this.#lastCutRequestId = cutTo
  }

  /** Deletes events with their deliveries, and counts them. */
  #delete(where: Sql): Group[] {
    const groups = countEvents(this.database, where)
    for (const table of ['attempt', 'delivery', 'event'])
      this.database.run(sql`DELETE FROM ${raw(table)} WHERE ${where}`)
    return groups
  }

  /** Deletes these events and their deliveries. Their requests stay. Returns how many there were. */
  delete(eventIds: readonly string[]): number {
    this.#requireSameFile()
    const groups = this.database.transaction(() => {
      // The number of a deleted event is not used again: a link to it must not show another one.
      this.#setMeta('last_seq', this.#lastSeq)
      return this.#delete(among('seq', numbersOf(eventIds)))
    })
    this.totals.addEvents(groups, -1)
    if (groups.length > 0) this.changes.changed()
    return groups.reduce((sum, { count }) => sum + count, 0)
  }

  /** Deletes all events, requests and deliveries. Sequence numbers continue. */
  clear(): void {
    this.#requireSameFile()
    const { database, changes } = this
    database.transaction(() => {
      this.#setMeta('last_seq', this.#lastSeq)
      this.#setMeta('epoch', changes.state.epoch + 1)
      for (const table of ['event', 'delivery', 'attempt', 'request', 'owner'])
        database.exec(`DELETE FROM ${table}`)
    })
    this.persons.forget()
    this.messageIds.forget(this.#lastSeq)
    this.totals.clear()
    changes.cleared()
  }

  /** Reports damage that a query has found. */
  noteDamage(cause: unknown): void {
    if (isDamage(cause)) this.#isDamaged = true
  }

  /** Why an append would fail now, in one sentence; null if it would succeed. After a failure, this tries a small write. */
  whyNotReady(): string | null {
    if (this.#isClosed) return 'the database is closed'
    if (!this.database.isSameFile) return 'the database file was removed or replaced: restart the collector'
    if (this.#isDamaged) return DAMAGED
    if (this.#failure === undefined) return null
    try {
      const trial = "INSERT INTO meta VALUES ('trial', zeroblob(65536)); DELETE FROM meta WHERE key = 'trial'"
      this.database.transaction(() => this.database.exec(trial))
      this.#failure = undefined
      return null
    } catch (cause) {
      this.#failure = cause
      return `the database cannot write (${(cause as Error).message})`
    }
  }

  /** Writes what waits, and closes the file. */
  close(): void {
    if (this.#isClosed) return
    while (this.#appends.length > 0 || this.#requests.length > 0) this.#flush()
    this.#isClosed = true
    this.database.close()
  }
}
