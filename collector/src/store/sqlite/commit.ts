import type { EventSummary } from '../../record.ts'
import { BUCKET_MS } from '../buckets.ts'
import { escapeForStore } from '../escape.ts'
import type { EventGroup, NewRequest } from '../ports.ts'
import { requestRow } from '../request-row.ts'
import { namesOf, REQUEST_COLUMNS, TABLES } from '../tables.ts'
import {
  type Batch,
  NewEvents,
  type SeenEvent,
  type SeenRow,
  seenEvents,
  valuesOf,
} from '../writing/batch.ts'
import type { Database, SqlValue } from './database.ts'
import { among, newestSeq } from './dialect.ts'
import { Counts, RowInsert } from './row-insert.ts'
import { SEGMENT_SIZE, segmentOf } from './schema.ts'
import { executorOn, runNow } from './steps.ts'

const EVENT_COLUMNS = ['seq', ...namesOf(TABLES.event.columns)]
const FLOOR = "(SELECT value FROM meta WHERE key = 'floor')"
const NAMED_KINDS: ReadonlySet<string | null> = new Set(['track', 'page', 'screen'])
const MAX_SOURCE_IDS = 10_000
/** The key of a group is kept for this time. After it, the messageIds show that the events of the group are known. */
const KEYS_KEPT_MS = 3 * 24 * 60 * 60 * 1000

/** The caller begins and ends the transaction. */
export class Commit {
  readonly #database: Database
  readonly #sourceIds = new Map<string, number>()
  readonly #events: RowInsert
  readonly #inherited: RowInsert
  readonly #seen: RowInsert
  readonly #deliveries: RowInsert
  readonly #requests: RowInsert
  readonly #tally: Counts
  readonly #total: Counts
  readonly #deliveryTally: Counts
  readonly #requestTally: Counts

  constructor(database: Database, dedupWindowMs: number | undefined) {
    this.#database = database
    // After a clear, rows of `seen` remain for a while. A messageId whose row is from before the clear counts as new.
    const expired =
      dedupWindowMs === undefined ? '' : `seen.at <= excluded.at - ${Math.floor(dedupWindowMs)} OR`
    this.#events = new RowInsert(database, 'event', EVENT_COLUMNS)
    this.#inherited = new RowInsert(database, 'inherited', ['seq', 'body'])
    this.#seen = new RowInsert(
      database,
      'seen',
      ['source_id', 'message_id', 'seq', 'at'],
      `ON CONFLICT DO UPDATE SET seq = excluded.seq, at = excluded.at WHERE ${expired} seen.seq <= ${FLOOR}`,
    )
    this.#deliveries = new RowInsert(database, 'delivery', ['seq', 'destination', 'state', 'reason'])
    this.#requests = new RowInsert(database, 'request', namesOf(REQUEST_COLUMNS), 'ON CONFLICT DO NOTHING')
    this.#tally = new Counts(database, 'tally')
    this.#total = new Counts(database, 'total')
    this.#deliveryTally = new Counts(database, 'delivery_tally')
    this.#requestTally = new Counts(database, 'request_tally')
  }

  /** Returns the result of each event, in order, without the events of groups that were left out. */
  run({ groups, requests, isOnce }: Batch, nowMs: number): EventSummary[] {
    const written = new NewEvents(isOnce ? this.#unknown(groups, nowMs) : groups)
    const summaries = written.events.length === 0 ? [] : this.#insert(written)
    this.#insertRequests(requests)
    for (const counts of this.#counts) counts.flush()
    return summaries
  }

  /** Forgets cached values after a rollback, or after the file was replaced. */
  failed(): void {
    // Sources that the transaction has added no longer exist.
    this.#sourceIds.clear()
    for (const counts of this.#counts) counts.discard()
  }

  get #counts(): Counts[] {
    return [this.#tally, this.#total, this.#deliveryTally, this.#requestTally]
  }

  /** Stores the keys of groups, and returns the groups whose keys are new. */
  #unknown(groups: readonly EventGroup[], nowMs: number): EventGroup[] {
    this.#database.run('DELETE FROM consumed WHERE at < ?', nowMs - KEYS_KEPT_MS)
    const note = 'INSERT INTO consumed (key, at) VALUES (?, ?) ON CONFLICT DO NOTHING'
    return groups.filter(({ key }) => this.#database.run(note, key, nowMs) === 1)
  }

  #insertRequests(requests: readonly NewRequest[]): void {
    this.#requests.run(requests.map((request) => Object.values(requestRow(request))))
    for (const { atMs, status, problem } of requests)
      this.#requestTally.add([Math.floor(atMs / BUCKET_MS), status, problem?.code ?? ''])
  }

  #insert(written: NewEvents): EventSummary[] {
    const firstSeq = newestSeq(this.#database) + 1
    const sourceIds = written.sources.map((name) => this.#sourceId(name))
    this.#deduplicate(written, sourceIds, firstSeq)
    this.#events.run(this.#eventRows(written, sourceIds, firstSeq))
    this.#inherited.run(
      written.events.flatMap(({ inherited }, index) =>
        written.inheritedFrom[index] === index ? [[firstSeq + index, inherited ?? '']] : [],
      ),
    )
    this.#insertDeliveries(written, firstSeq)
    this.#markSegments(written, firstSeq)
    return written.summaries(firstSeq)
  }

  #eventRows(written: NewEvents, sourceIds: readonly number[], firstSeq: number): SqlValue[][] {
    return written.events.map((event, index) => {
      const sourceId = sourceIds[written.sourceIndexes[index] ?? 0] ?? 0
      const reason = written.reasons[index] ?? null
      const { kind, name, receivedAtMs } = event
      const bucket = Math.floor(receivedAtMs / BUCKET_MS)
      const counted = NAMED_KINDS.has(kind) ? (escapeForStore(name) ?? '') : ''
      this.#tally.add([bucket, sourceId, kind ?? '', counted, reason ?? ''])
      this.#total.add([sourceId, kind ?? '', reason ?? ''])
      const status = reason === null ? 1 : 0
      const from = written.inheritedFrom[index] ?? null
      const inherited = from === null ? null : firstSeq + from
      return [firstSeq + index, sourceId, status, ...valuesOf(event, reason), inherited]
    })
  }

  #insertDeliveries({ events, deliveries }: NewEvents, firstSeq: number): void {
    this.#deliveries.run(
      deliveries.map(({ index, destination, state, reason }) => {
        const bucket = Math.floor((events[index]?.receivedAtMs ?? 0) / BUCKET_MS)
        this.#deliveryTally.add([bucket, destination, state, reason ?? ''])
        return [firstSeq + index, destination, state, reason]
      }),
    )
  }

  /** Stores the first and last time of receipt in each segment that has events of the batch. */
  #markSegments({ events }: NewEvents, firstSeq: number): void {
    const mark = this.#database.statement(
      `INSERT INTO segment VALUES (?, ?, ?) ON CONFLICT (n) DO UPDATE
       SET first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)`,
    )
    for (let start = 0; start < events.length; ) {
      const segment = segmentOf(firstSeq + start)
      const end = Math.min(events.length, (segment + 1) * SEGMENT_SIZE - firstSeq)
      let first = Number.POSITIVE_INFINITY
      let last = Number.NEGATIVE_INFINITY
      for (const { receivedAtMs } of events.slice(start, end)) {
        first = Math.min(first, receivedAtMs)
        last = Math.max(last, receivedAtMs)
      }
      mark.run(segment, first, last)
      start = end
    }
  }

  #deduplicate(written: NewEvents, sourceIds: readonly number[], firstSeq: number): void {
    const { events } = written
    const rows: SqlValue[][] = []
    for (const [index, { reason, messageId, receivedAtMs }] of events.entries()) {
      if (reason !== null || messageId === null) continue
      const sourceId = sourceIds[written.sourceIndexes[index] ?? 0] ?? 0
      rows.push([sourceId, escapeForStore(messageId), firstSeq + index, receivedAtMs])
    }
    // If `run` writes fewer rows than it is given, some messageIds are known.
    if (this.#seen.run(rows) < rows.length) written.deduplicate(this.#seenBefore(written, rows, firstSeq))
  }

  #seenBefore({ events }: NewEvents, rows: readonly SqlValue[][], firstSeq: number): SeenEvent[] {
    const known = rows.flatMap(([sourceId, messageId, seq]): SeenRow[] => {
      const first = this.#database.get<Omit<SeenRow, 'index'> & { seq: number }>(
        `SELECT seen.seq AS seq, body, inherited FROM seen LEFT JOIN event ON event.seq = seen.seq
         WHERE seen.source_id = ? AND seen.message_id = ?`,
        sourceId as number,
        messageId as string,
      )
      return first === undefined || first.seq >= firstSeq ? [] : [{ ...first, index: Number(seq) - firstSeq }]
    })
    return runNow(seenEvents({ among }, known, events), executorOn(this.#database))
  }

  #sourceId(name: string): number {
    const known = this.#sourceIds.get(name)
    if (known !== undefined) return known
    this.#database.run('INSERT INTO source (name) VALUES (?) ON CONFLICT DO NOTHING', name)
    const id = this.#database.value<number>('SELECT id AS value FROM source WHERE name = ?', name) as number
    // The cache is limited because clients choose the names of sources if the collector accepts any write key.
    if (this.#sourceIds.size >= MAX_SOURCE_IDS) this.#sourceIds.clear()
    this.#sourceIds.set(name, id)
    return id
  }
}
