import type { EventSummary, Reason } from '../../record.ts'
import { escapeForStore } from '../escape.ts'
import { inheritedPlaces } from '../inherited.ts'
import type { EventGroup, NewEvent, NewRequest } from '../ports.ts'
import { requestRow } from '../request-row.ts'
import { BATCHES_COMPARED, contentComparer } from '../same-content.ts'
import { outcome, summaryOf } from '../summary.ts'
import type { Queryable, SqlValue } from './database.ts'
import { REQUEST_COLUMNS } from './functions.ts'
import { inheritedOf } from './inherited.ts'

/** What is written in one transaction, or not at all. */
export interface Batch {
  groups: readonly EventGroup[]
  requests: readonly NewRequest[]
  /** Whether groups whose key is known are left out; else a known key says that the batch itself was written before. */
  isOnce: boolean
}

/** A row that `append` returns. */
interface Told {
  what: 'written' | 'known' | 'consumed' | 'cleared'
  nth: number
  first_seq: number
  first_body: string | null
  first_inherited: number | null
  at_epoch: number
}

/** The event that had a messageId first, as far as it is known. */
type First = Pick<NewEvent, 'body' | 'inherited'>

const PLACEHOLDERS = Array.from({ length: 28 }, (_, index) => `$${index + 1}`).join(', ')
const APPEND = `SELECT * FROM append(${PLACEHOLDERS})`

/** Writes events and requests, with deduplication and all that is counted, in one statement as a rule. */
export class Commit {
  readonly #database: Queryable
  readonly #dedupWindowMs: number | null
  readonly #now: () => number

  constructor(database: Queryable, dedupWindowMs: number | undefined, now: () => number) {
    this.#database = database
    this.#dedupWindowMs = dedupWindowMs === undefined ? null : Math.floor(dedupWindowMs)
    this.#now = now
  }

  /**
   * Writes and says what became of each event of the groups that were not left out, in order. May be called again with the same
   * batch when the connection was lost: by the keys of its groups it is written once.
   *
   * @throws what the database says; then nothing was written, unless the connection was lost.
   */
  async run(batch: Batch): Promise<EventSummary[]> {
    let { groups } = batch
    for (;;) {
      const events = groups.flatMap((group) => group.events)
      const attempt = new Attempt(groups, events, batch.requests)
      const told = await this.#append(attempt)
      const [first] = told
      if (first === undefined) throw new Error('the database has returned nothing')
      if (first.what === 'written') return attempt.summaries(first.first_seq)
      // What the caller knew was cleared away meanwhile: from the beginning.
      if (first.what === 'cleared') continue
      if (!batch.isOnce) return attempt.summaries(first.first_seq)
      const consumed = new Set(told.map(({ nth }) => nth - 1))
      groups = groups.filter((_, index) => !consumed.has(index))
      if (groups.length === 0 && batch.requests.length === 0) return []
    }
  }

  /** Asks until all messageIds that were seen before are known here. */
  async #append(attempt: Attempt): Promise<Told[]> {
    for (let epoch: number | null = null; ; ) {
      const values = [this.#now(), this.#dedupWindowMs, epoch, ...attempt.values()]
      const told: Told[] = await this.#database.query<Told>(APPEND, values)
      if (told[0]?.what !== 'known') return told
      attempt.learn(told, await this.#inherited(told))
      epoch = told[0].at_epoch
    }
  }

  /** What the events that were seen before take over from their batches, by the number that they name. */
  async #inherited(told: readonly Told[]): Promise<Map<number, string>> {
    const seqs = [...new Set(told.map(({ first_inherited }) => first_inherited))].filter(
      (seq) => seq !== null,
    )
    return inheritedOf(this.#database, seqs.slice(0, BATCHES_COMPARED))
  }
}

/** The events of a commit as columns, and what is known of them so far. */
class Attempt {
  readonly #groups: readonly EventGroup[]
  readonly #events: readonly NewEvent[]
  readonly #requests: string | null
  readonly #fixed: SqlValue[]
  readonly #sourceNths: number[]
  readonly #sourceNames: string[]
  /** By source and messageId: the first event, of those that were seen before this commit and of its own. */
  readonly #firsts = new Map<string, First>()
  readonly #keys: Array<string | null>
  #reasons: Array<Reason | null> = []

  constructor(groups: readonly EventGroup[], events: readonly NewEvent[], requests: readonly NewRequest[]) {
    this.#groups = groups
    this.#events = events
    this.#requests = requestsJson(requests)
    const nths = new Map<string, number>()
    this.#sourceNths = events.map((event) => {
      const source = escapeForStore(event.source)
      const nth = nths.get(source) ?? nths.size + 1
      nths.set(source, nth)
      return nth
    })
    this.#sourceNames = [...nths.keys()]
    this.#fixed = columnsOf(events)
    this.#keys = events.map((event, index) =>
      event.reason === null && event.messageId !== null
        ? `${this.#sourceNths[index]}:${escapeForStore(event.messageId)}`
        : null,
    )
    this.#judge()
  }

  /** Takes note of what was seen before. */
  learn(told: readonly Told[], inherited: ReadonlyMap<number, string>): void {
    for (const { nth, first_body, first_inherited } of told) {
      const key = this.#keys[nth - 1]
      if (typeof key !== 'string') continue
      const first: First = { body: first_body }
      // One of more batches than are compared counts as the same.
      const text = inherited.get(first_inherited ?? 0) ?? this.#events[nth - 1]?.inherited
      if (first_inherited !== null && text !== undefined) first.inherited = text
      this.#firsts.set(key, first)
    }
    this.#judge()
  }

  /** The final reason of each event, as far as it can be told: its own, or that its messageId is known. */
  #judge(): void {
    const firsts = new Map(this.#firsts)
    const isSame = contentComparer()
    this.#reasons = this.#events.map((event, index) => {
      const key = this.#keys[index]
      if (typeof key !== 'string') return event.reason
      const first = firsts.get(key)
      if (first === undefined) {
        firsts.set(key, event)
        return null
      }
      return isSame(first, event) ? 'duplicate' : 'dedup_conflict'
    })
  }

  /** The arguments of `append` from the keys on. */
  values(): SqlValue[] {
    const starts: number[] = []
    let start = 0
    for (const { events } of this.#groups) {
      starts.push(start)
      start += events.length
    }
    return [
      this.#groups.map(({ key }) => key),
      starts,
      this.#sourceNames,
      this.#sourceNths,
      this.#reasons,
      ...this.#fixed,
      ...this.#deliveries(),
      this.#requests,
    ]
  }

  #deliveries(): SqlValue[] {
    const nths: number[] = []
    const destinations: string[] = []
    const states: string[] = []
    const reasons: Array<string | null> = []
    for (const [index, { deliveries }] of this.#events.entries()) {
      if (this.#reasons[index] !== null) continue
      for (const { destination, skippedBecause } of deliveries) {
        nths.push(index + 1)
        destinations.push(destination)
        states.push(skippedBecause === undefined ? 'pending' : 'skipped')
        reasons.push(skippedBecause ?? null)
      }
    }
    return [nths, destinations, states, reasons]
  }

  summaries(firstSeq: number): EventSummary[] {
    return this.#events.map((event, index) => {
      const reason = this.#reasons[index] ?? null
      const planned = reason === null ? event.deliveries : []
      const destinations = planned.map(({ destination, skippedBecause }) => {
        const state = skippedBecause === undefined ? 'pending' : 'skipped'
        return outcome({ destination, state, reason: skippedBecause ?? null, attempts: 0 })
      })
      return summaryOf(firstSeq + index, reason, event, destinations)
    })
  }
}

/** What is the same however often a commit is tried, in the order of the parameters of `append`. */
function columnsOf(events: readonly NewEvent[]): SqlValue[] {
  const column = <T extends string | number | null>(of: (event: NewEvent) => T) => events.map(of)
  return [
    column(({ kind }) => kind),
    column(({ name }) => name),
    column(({ userId }) => userId),
    column(({ anonymousId }) => anonymousId),
    column(({ messageId }) => messageId),
    column(({ receivedAtMs }) => receivedAtMs),
    column(({ timestampMs }) => timestampMs),
    column(({ body }) => body),
    column(({ requestId }) => (requestId === undefined ? null : Number(requestId))),
    column(({ sent }) => (sent === undefined ? null : JSON.stringify(sent))),
    column(({ warnings }) => list(warnings)),
    column(({ violations }) => list(violations)),
    ...inheritedColumns(events),
  ]
}

/** For each event which one holds what it takes over, and the texts of those. */
function inheritedColumns(events: readonly NewEvent[]): SqlValue[] {
  const places = inheritedPlaces(events)
  const first = places.filter((place, index): place is number => place === index)
  return [
    places.map((place) => (place === null ? null : place + 1)),
    first.map((place) => place + 1),
    first.map((place) => events[place]?.inherited ?? ''),
  ]
}

function list(values: readonly unknown[] | undefined): string | null {
  return values === undefined || values.length === 0 ? null : JSON.stringify(values)
}

function requestsJson(requests: readonly NewRequest[]): string | null {
  if (requests.length === 0) return null
  return JSON.stringify(
    requests.map((request) => {
      // Escaped before it becomes JSON: the database refuses the escape of U+0000 in there.
      const row = requestRow(request).map((value) =>
        typeof value === 'string' ? escapeForStore(value) : value,
      )
      return Object.fromEntries(REQUEST_COLUMNS.map((name, index) => [name, row[index]]))
    }),
  )
}
