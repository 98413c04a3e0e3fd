import type { DestinationOutcome, EventSummary, Reason } from '../../record.ts'
import { BUCKET_MS } from '../buckets.ts'
import { escapeForStore } from '../escape.ts'
import { inheritedPlaces } from '../inherited.ts'
import type { NewEvent, NewRequest } from '../ports.ts'
import { requestRow } from '../request-row.ts'
import { BATCHES_COMPARED, contentComparer } from '../same-content.ts'
import { outcome, summaryOf } from '../summary.ts'
import type { Database, SqlValue } from './database.ts'
import { inheritedOf } from './inherited.ts'
import { Counts, RowInsert } from './row-insert.ts'
import { SEGMENT_SIZE, segmentOf } from './schema.ts'

const EVENT_COLUMNS =
  'seq, source_id, status, reason, kind, name, user_id, anonymous_id, message_id, received_at, timestamp, body, request_id, sent, warnings, violations, inherited'
const REQUEST_COLUMNS =
  'id, at, method, path, status, code, source, address, agent, library, content_type, encoding, body_bytes, inflated_bytes, duration, retries, events, accepted, problem, fault, headers, body, is_cut'
const FLOOR = "(SELECT value FROM meta WHERE key = 'floor')"
const NAMED_KINDS: ReadonlySet<string | null> = new Set(['track', 'page', 'screen'])
const MAX_SOURCE_IDS = 10_000

/** Writes events and requests, with deduplication and all that is counted. Works inside a transaction of the caller. */
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
    // What was cleared away is not known any more, although its row may still be there.
    const expired =
      dedupWindowMs === undefined ? '' : `seen.at <= excluded.at - ${Math.floor(dedupWindowMs)} OR`
    this.#events = new RowInsert(database, `event (${EVENT_COLUMNS})`, 17)
    this.#inherited = new RowInsert(database, 'inherited (seq, body)', 2)
    this.#seen = new RowInsert(
      database,
      'seen (source_id, message_id, seq, at)',
      4,
      `ON CONFLICT DO UPDATE SET seq = excluded.seq, at = excluded.at WHERE ${expired} seen.seq <= ${FLOOR}`,
    )
    this.#deliveries = new RowInsert(database, 'delivery (seq, destination, state, reason)', 4)
    this.#requests = new RowInsert(database, `request (${REQUEST_COLUMNS})`, 23, 'ON CONFLICT DO NOTHING')
    this.#tally = new Counts(database, 'tally', ['bucket', 'source_id', 'kind', 'name', 'reason'])
    this.#total = new Counts(database, 'total', ['source_id', 'kind', 'reason'])
    this.#deliveryTally = new Counts(database, 'delivery_tally', ['bucket', 'destination', 'state', 'reason'])
    this.#requestTally = new Counts(database, 'request_tally', ['bucket', 'status', 'code'])
  }

  /** Writes and says what became of each event, in order. */
  run(events: readonly NewEvent[], requests: readonly NewRequest[]): EventSummary[] {
    const summaries = events.length === 0 ? [] : this.#insert(events)
    this.#requests.run(requests.map(requestRow))
    for (const { atMs, status, problem } of requests) {
      this.#requestTally.add([Math.floor(atMs / BUCKET_MS), status, problem?.code ?? ''])
    }
    for (const counts of this.#counts) counts.flush()
    return summaries
  }

  /** Forgets what it knows of a transaction that was rolled back. */
  failed(): void {
    // A source added by it is gone.
    this.#sourceIds.clear()
    for (const counts of this.#counts) counts.discard()
  }

  get #counts(): Counts[] {
    return [this.#tally, this.#total, this.#deliveryTally, this.#requestTally]
  }

  #insert(events: readonly NewEvent[]): EventSummary[] {
    const newest = this.#database.value<number>(
      `SELECT max(coalesce((SELECT max(seq) FROM event), 0), ${FLOOR}) AS value`,
    )
    const firstSeq = (newest ?? 0) + 1
    const reasons = this.#deduplicate(events, firstSeq)
    const rows: SqlValue[][] = []
    const inherited: SqlValue[][] = []
    const deliveries: SqlValue[][] = []
    const places = inheritedPlaces(events)
    const summaries: EventSummary[] = []
    for (const [index, event] of events.entries()) {
      const seq = firstSeq + index
      const reason = reasons[index] ?? null
      const place = places[index] ?? null
      if (place === index) inherited.push([seq, event.inherited ?? ''])
      rows.push([...this.#eventRow(seq, reason, event), place === null ? null : firstSeq + place])
      const destinations = reason === null ? this.#plan(seq, event, deliveries) : []
      summaries.push(summaryOf(seq, reason, event, destinations))
    }
    this.#events.run(rows)
    this.#inherited.run(inherited)
    this.#deliveries.run(deliveries)
    this.#markSegments(events, firstSeq)
    return summaries
  }

  #eventRow(seq: number, reason: Reason | null, event: NewEvent): SqlValue[] {
    const sourceId = this.#sourceId(event.source)
    const { kind, receivedAtMs } = event
    const name = escapeForStore(event.name)
    this.#tally.add([
      Math.floor(receivedAtMs / BUCKET_MS),
      sourceId,
      kind ?? '',
      NAMED_KINDS.has(kind) ? (name ?? '') : '',
      reason ?? '',
    ])
    this.#total.add([sourceId, kind ?? '', reason ?? ''])
    return [
      seq,
      sourceId,
      reason === null ? 1 : 0,
      reason,
      kind,
      name,
      escapeForStore(event.userId),
      escapeForStore(event.anonymousId),
      escapeForStore(event.messageId),
      receivedAtMs,
      event.timestampMs,
      event.body,
      event.requestId === undefined ? null : Number(event.requestId),
      event.sent === undefined ? null : JSON.stringify(event.sent),
      list(event.warnings),
      list(event.violations),
    ]
  }

  #plan(seq: number, event: NewEvent, rows: SqlValue[][]): DestinationOutcome[] {
    const bucket = Math.floor(event.receivedAtMs / BUCKET_MS)
    return event.deliveries.map(({ destination, skippedBecause }) => {
      const state = skippedBecause === undefined ? 'pending' : 'skipped'
      const reason = skippedBecause ?? null
      rows.push([seq, destination, state, reason])
      this.#deliveryTally.add([bucket, destination, state, reason ?? ''])
      return outcome({ destination, state, reason, attempts: 0 })
    })
  }

  /** Notes the times between which the events of each segment lie. */
  #markSegments(events: readonly NewEvent[], firstSeq: number): void {
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

  /** The final reason of each event: its own, or that its messageId is known. */
  #deduplicate(events: readonly NewEvent[], firstSeq: number): Array<Reason | null> {
    const reasons = events.map((event) => event.reason)
    const rows: SqlValue[][] = []
    for (const [index, event] of events.entries()) {
      if (event.reason !== null || event.messageId === null) continue
      rows.push([
        this.#sourceId(event.source),
        escapeForStore(event.messageId),
        firstSeq + index,
        event.receivedAtMs,
      ])
    }
    if (this.#seen.run(rows) === rows.length) return reasons

    const isSame = contentComparer()
    const texts = new Map<number, string | null>()
    // Some were known. Whose row carries this event's own seq is new; all others came too late.
    for (const [sourceId, messageId, seq] of rows) {
      const first = this.#database.get<{ seq: number; body: string | null; inherited: number | null }>(
        `SELECT seen.seq AS seq, body, inherited FROM seen LEFT JOIN event ON event.seq = seen.seq
         WHERE seen.source_id = ? AND seen.message_id = ?`,
        sourceId as number,
        messageId as string,
      )
      if (first === undefined || first.seq === seq) continue
      const index = Number(seq) - firstSeq
      const event = events[index] as NewEvent
      // The first one may have come in this very commit, and is then not in the table yet.
      const isCompared = texts.size < BATCHES_COMPARED || texts.has(first.inherited ?? 0)
      const earlier = events[first.seq - firstSeq] ?? {
        body: first.body,
        inherited: isCompared ? inheritedOf(this.#database, first.inherited, texts) : event.inherited,
      }
      reasons[index] = isSame(earlier, event) ? 'duplicate' : 'dedup_conflict'
    }
    return reasons
  }

  #sourceId(given: string): number {
    const known = this.#sourceIds.get(given)
    if (known !== undefined) return known
    const name = escapeForStore(given)
    this.#database.run('INSERT INTO source (name) VALUES (?) ON CONFLICT DO NOTHING', name)
    const id = this.#database.value<number>('SELECT id AS value FROM source WHERE name = ?', name) as number
    // Bounded: with any write key taken, a caller chooses the names.
    if (this.#sourceIds.size >= MAX_SOURCE_IDS) this.#sourceIds.clear()
    this.#sourceIds.set(given, id)
    return id
  }
}

function list(values: readonly unknown[] | undefined): string | null {
  return values === undefined || values.length === 0 ? null : JSON.stringify(values)
}
