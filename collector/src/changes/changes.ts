import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { isNamed } from '../event-key.ts'
import { term } from '../search/syntax.ts'
import type { Database } from '../store/database.ts'
import { sql } from '../store/sql.ts'
import { storedMessage } from '../store/stored-message.ts'
import { type Difference, differencesOf, type Seen } from './compare.ts'
import { listDeploys } from './deploys.ts'
import { EventShapes, type Side, type SideOptions } from './event-shapes.ts'
import { sentenceOf } from './sentence.ts'
import { ORIGIN_FIELDS } from './shape.ts'

/** What to compare: the events before and after a time, or those of two versions of an app. */
export type Question =
  | { by: 'time'; sinceMs: number; fromMs?: number | undefined; toMs?: number | undefined }
  | { by: 'version'; before: string; after: string }

const MAX_CHANGES = 500
const STEP = 500
/** In the background, so many ms pass between two steps: nobody waits for them yet. */
const REST_MS = 25
const FIRST_REST_MS = 500
/** The background waits for a pause this long in the arrival of events, and so takes no time from them. */
const PAUSE_MS = 50

interface Row {
  seq: number
  received_at: number
  kind: string
  name: string | null
  source: string
  user: string | null
  body: string | null
}

export type ChangesOverview = Awaited<ReturnType<EventChanges['overview']>>

/** Follows the accepted events of the store, and compares them. */
export class EventChanges {
  readonly #database: Database
  readonly #clock: Clock
  readonly #onFault: (what: string, cause: unknown) => void
  readonly #shapes = new EventShapes()
  #cancel: (() => void) | undefined
  #lastNewsMs = 0
  #isClosed = false

  constructor(database: Database, clock: Clock, onFault: (what: string, cause: unknown) => void) {
    this.#database = database
    this.#clock = clock
    this.#onFault = onFault
  }

  /** Has to be called at the start and when events have arrived. Reads them in the background. */
  news(): void {
    this.#lastNewsMs = this.#clock.monotonic()
    if (this.#cancel === undefined && !this.#isClosed) this.#schedule(FIRST_REST_MS)
  }

  #schedule(ms: number): void {
    this.#cancel = this.#clock.setTimer(() => {
      this.#cancel = undefined
      if (this.#isClosed) return
      if (this.#clock.monotonic() - this.#lastNewsMs < PAUSE_MS) return this.#schedule(PAUSE_MS)
      try {
        if (this.#readMore()) this.#schedule(REST_MS)
      } catch (cause) {
        // Who asks gets the error too.
        this.#onFault('the events could not be read to compare them', cause)
      }
    }, ms)
  }

  /** Returns whether there may be more. */
  #readMore(): boolean {
    const rows = this.#database.all<Row>(
      sql`SELECT seq, received_at, kind, name, source, coalesce(userId, anonymousId) AS user, body FROM event
          WHERE seq > ${this.#shapes.lastSeq} AND reason IS NULL ORDER BY seq LIMIT ${STEP}`,
    )
    for (const { seq, received_at, body, ...rest } of rows) {
      this.#shapes.add({ ...rest, seq, receivedAtMs: received_at, message: storedMessage(body) ?? {} })
    }
    return rows.length === STEP
  }

  /** Other requests are answered in between, however many events there are. */
  async #catchUp(): Promise<void> {
    while (!this.#isClosed && this.#readMore()) await nextTurn()
    const stored = this.#database.number('SELECT count(*) AS value FROM event WHERE reason IS NULL')
    if (stored === this.#shapes.size) return
    const kept = this.#database.all<{ seq: number }>(
      'SELECT seq FROM event WHERE reason IS NULL ORDER BY seq',
    )
    this.#shapes.keep(kept.map(({ seq }) => seq))
  }

  async overview() {
    await this.#catchUp()
    return {
      deploys: listDeploys(this.#database),
      versions: this.#shapes.versions().map(({ version, events, firstMs, lastMs }) => ({
        version,
        events,
        firstSeen: isoTime(firstMs),
        lastSeen: isoTime(lastMs),
      })),
    }
  }

  async side(range: SideOptions): Promise<Side> {
    await this.#catchUp()
    return this.#shapes.side(range)
  }

  async compare(question: Question) {
    await this.#catchUp()
    const [old, young] = sidesOf(question)
    const [before, after] = [this.#shapes.side(old), this.#shapes.side(young)]
    const differences = before.events === 0 || after.events === 0 ? [] : differencesOf(before, after)
    return {
      before: shownSide(old, before),
      after: shownSide(young, after),
      changes: differences.slice(0, MAX_CHANGES).map((one) => shownChange(one, old, young)),
      isComplete: differences.length <= MAX_CHANGES && this.#shapes.isWhole,
    }
  }

  close(): void {
    this.#isClosed = true
    this.#cancel?.()
  }
}

function sidesOf(question: Question): [SideOptions, SideOptions] {
  if (question.by === 'version') return [{ version: question.before }, { version: question.after }]
  const { sinceMs, fromMs, toMs } = question
  return [
    { fromMs, toMs: sinceMs },
    { fromMs: sinceMs, toMs },
  ]
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

function shownSide({ fromMs, toMs, version = '' }: SideOptions, { events, users }: Side) {
  return {
    from: fromMs === undefined ? null : isoTime(fromMs),
    to: toMs === undefined ? null : isoTime(toMs),
    version: version || null,
    events,
    users,
  }
}

function shownChange(one: Difference, before: SideOptions, after: SideOptions) {
  const [old, young] = searchesOf(one)
  return {
    what: one.what,
    grade: one.grade,
    sentence: sentenceOf(one),
    type: one.kind,
    name: one.name,
    path: 'path' in one ? one.path : null,
    before: shownSeen(one.before, before, old),
    after: shownSeen(one.after, after, young),
  }
}

function shownSeen({ count, of, newest }: Seen, { fromMs, toMs, version }: SideOptions, q: string | null) {
  const versionTerm = version === undefined ? '' : ` ${term(ORIGIN_FIELDS.version, version)}`
  return {
    count,
    of,
    q: q === null ? null : `${q}${versionTerm}`,
    from: fromMs === undefined ? null : isoTime(fromMs),
    to: toMs === undefined ? null : isoTime(toMs),
    example: newest === 0 ? null : String(newest),
  }
}

function searchesOf(one: Difference): [before: string | null, after: string | null] {
  const named = (name: string) => `${eventTerm(one.kind, name)} status:accepted`
  const event = named(one.name)
  if (!('path' in one)) return [event, named(one.what === 'event_renamed' ? one.newName : one.name)]
  // No search asks for a type, nor for an element of a list.
  if (one.what === 'type_changed' || one.path.includes('[]')) return [null, null]
  const there = `${one.path}:*`
  if (one.what !== 'property_gone') return [`${event} ${there}`, `${event} ${there}`]
  const where = one.where === null ? '' : ` ${originTerm(one.where.dimension, one.where.gone)}`
  return [`${event}${where} ${there}`, `${event}${where} -${there}`]
}

function eventTerm(kind: string, name: string): string {
  if (kind === 'track') return term('event', name)
  return isNamed(kind) && name !== '' ? `type:${kind} ${term('name', name)}` : `type:${kind}`
}

function originTerm(dimension: keyof typeof ORIGIN_FIELDS, values: readonly string[]): string {
  const field = ORIGIN_FIELDS[dimension]
  const terms = values.map((value) =>
    value === '' && dimension !== 'source' ? `-${field}:*` : term(field, value),
  )
  return terms.length === 1 ? (terms[0] ?? '') : `(${terms.join(' OR ')})`
}
