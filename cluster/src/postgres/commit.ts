import type { EventSummary, NewRequest } from 'trackpost-collector/ports'
import {
  type Batch,
  escapeForStore,
  GIVEN_COLUMNS,
  NewEvents,
  namesOf,
  requestRow,
  type SeenEvent,
  seenEvents,
  sql,
  valuesOf,
} from 'trackpost-collector/sql'
import type { Queryable, SqlValue } from './database.ts'
import { runOn } from './steps.ts'

/** A row that the SQL function `append` returns; see `functions.ts`. */
interface AppendRow {
  what: 'written' | 'known' | 'consumed' | 'cleared'
  nth: number
  first_seq: number
  first_body: string | null
  first_inherited: number | null
  at_epoch: number
}

const COLUMNS = namesOf(GIVEN_COLUMNS)

/** Finds rows in the partitions of all days. A condition on the days would require another statement to look them up. */
const ON_ANY_DAY = { among: (seqs: readonly number[]) => sql`seq = ANY (${seqs}::bigint[])` }

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
   * Returns the result of each event, in order, without the events of groups that were left out. May be called again with the
   * same batch after the connection was lost: the keys of the groups prevent a second write.
   *
   * @throws the error of the database. Then nothing was written, unless the connection was lost.
   */
  async run(batch: Batch): Promise<EventSummary[]> {
    let { groups } = batch
    for (;;) {
      const written = new NewEvents(groups)
      const returned = await this.#append({ ...batch, groups }, written)
      const [first] = returned
      if (first === undefined) throw new Error('the database has returned nothing')
      if (first.what === 'written') return written.summaries(first.first_seq)
      // All data were deleted since the last call of `append`: messageIds found by that call are no longer known.
      if (first.what === 'cleared') continue
      if (!batch.isOnce) return written.summaries(first.first_seq)
      const consumed = new Set(returned.map(({ nth }) => nth - 1))
      groups = groups.filter((_, index) => !consumed.has(index))
      if (groups.length === 0 && batch.requests.length === 0) return []
    }
  }

  /**
   * If the SQL function `append` returns events whose messageIds are known, marks these events as duplicates, and calls it
   * again.
   */
  async #append(batch: Batch, written: NewEvents): Promise<AppendRow[]> {
    written.deduplicate([])
    for (let epoch: number | null = null; ; ) {
      const values = [this.#now(), this.#dedupWindowMs, epoch, ...argumentsOf(batch, written)]
      const places = values.map((_, index) => `$${index + 1}`).join(', ')
      const append = `SELECT * FROM append(${places})`
      const returned: AppendRow[] = await this.#database.query<AppendRow>(append, values)
      if (returned[0]?.what !== 'known') return returned
      written.deduplicate(await this.#seenBefore(returned, written))
      epoch = returned[0].at_epoch
    }
  }

  async #seenBefore(returned: readonly AppendRow[], { events }: NewEvents): Promise<SeenEvent[]> {
    const rows = returned.map(({ nth, first_body: body, first_inherited: inherited }) => ({
      index: nth - 1,
      body,
      inherited,
    }))
    return runOn(this.#database, seenEvents(ON_ANY_DAY, rows, events))
  }
}

/** The arguments of the SQL function `append` from `keys` on, in the order of its parameters. */
function argumentsOf({ groups, requests }: Batch, written: NewEvents): SqlValue[] {
  const starts: number[] = []
  let start = 0
  for (const { events } of groups) {
    starts.push(start)
    start += events.length
  }
  const { events, inheritedFrom, deliveries, sources, sourceIndexes, reasons } = written
  const rows = events.map((event, index) => valuesOf(event, reasons[index] ?? null))
  const firsts = inheritedFrom.filter((from, index): from is number => from === index)
  return [
    groups.map(({ key }) => key),
    starts,
    sources,
    sourceIndexes.map((index) => index + 1),
    ...COLUMNS.map((_, place) => rows.map((row) => row[place] ?? null)),
    inheritedFrom.map((from) => (from === null ? null : from + 1)),
    firsts.map((from) => from + 1),
    firsts.map((from) => events[from]?.inherited ?? ''),
    deliveries.map(({ index }) => index + 1),
    deliveries.map(({ destination }) => destination),
    deliveries.map(({ state }) => state),
    deliveries.map(({ reason }) => reason),
    requestsJson(requests),
  ]
}

function requestsJson(requests: readonly NewRequest[]): string | null {
  if (requests.length === 0) return null
  return JSON.stringify(
    requests.map(requestRow),
    // Escapes texts before they become JSON, because PostgreSQL refuses U+0000 in JSON even if it is escaped.
    (_, value) => (typeof value === 'string' ? escapeForStore(value) : value),
  )
}
