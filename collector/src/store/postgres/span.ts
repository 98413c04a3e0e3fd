import type { TimeRange } from '../queries.ts'
import type { Queryable } from './database.ts'
import { shownDay } from './partitions.ts'

/** The numbers between which records lie, both included. */
export interface Bounds {
  first: number
  last: number
}

/** Events of a range of time are looked up by the time alone as long as they are no more than these. */
const FEW_EVENTS = 20_000

/** Where the events lie: their numbers, and the day of each. */
export class Span implements Bounds {
  readonly first: number
  readonly last: number
  readonly #days: ReadonlyArray<{ firstSeq: number; day: string }>

  constructor(bounds: Bounds, days: ReadonlyArray<{ firstSeq: number; day: string }>) {
    this.first = Math.max(bounds.first, days[0]?.firstSeq ?? 1)
    this.last = bounds.last
    this.#days = days
  }

  /** The days between which the records of these numbers lie, both included. */
  daysOf({ first, last }: Bounds): [string, string] {
    let from: string | undefined
    let to: string | undefined
    for (const [index, { firstSeq, day }] of this.#days.entries()) {
      const next = this.#days[index + 1]
      if (firstSeq > last || (next !== undefined && next.firstSeq <= first)) continue
      if (from === undefined || day < from) from = day
      if (to === undefined || day > to) to = day
    }
    return [from ?? '-infinity', to ?? 'infinity']
  }

  /** The numbers of one day after another; a day may come twice when the clock was set. */
  get days(): Array<Bounds & { day: string }> {
    return this.#days.map(({ firstSeq, day }, index) => ({
      day,
      first: Math.max(this.first, firstSeq),
      last: (this.#days[index + 1]?.firstSeq ?? this.last + 1) - 1,
    }))
  }
}

export async function readSpan(sql: Queryable): Promise<Span> {
  const rows = await sql.query<{ last: number; floor: number; firstSeq: number | null; day: string | null }>(
    `SELECT last_seq AS last, floor, first_seq AS "firstSeq", ${shownDay('log_day.day')} AS day FROM log_head LEFT JOIN log_day ON true ORDER BY first_seq`,
  )
  const { last = 0, floor = 0 } = rows[0] ?? {}
  const days = rows.filter(
    (row): row is { last: number; floor: number; firstSeq: number; day: string } => row.firstSeq !== null,
  )
  return new Span({ first: floor + 1, last }, days)
}

/** Where records of a time can lie; records in there may still be outside of it. */
export async function boundsOf(sql: Queryable, span: Span, range: TimeRange): Promise<Bounds> {
  if (range.fromMs === undefined && range.toMs === undefined) return { first: span.first, last: span.last }
  const { fromMs = Number.MIN_SAFE_INTEGER, toMs = Number.MAX_SAFE_INTEGER } = range
  const [few] = await sql.query<{ count: number; first: number | null; last: number | null }>(
    `SELECT count(*) AS count, min(seq) AS first, max(seq) AS last FROM
       (SELECT seq FROM event WHERE received_at >= $1 AND received_at < $2 LIMIT ${FEW_EVENTS + 1}) AS few`,
    [fromMs, toMs],
  )
  if (few === undefined || few.first === null || few.last === null) return { first: 1, last: 0 }
  if (few.count <= FEW_EVENTS)
    return { first: Math.max(span.first, few.first), last: Math.min(span.last, few.last) }
  const times = await sql.query<{ day: string; first: number | null; last: number | null }>(
    `SELECT ${shownDay('days.day')} AS day, (SELECT min(received_at) FROM event WHERE event.day = days.day) AS first,
       (SELECT max(received_at) FROM event WHERE event.day = days.day) AS last
     FROM (SELECT DISTINCT day FROM log_day) AS days`,
  )
  const within = new Set(
    times
      .filter(({ first, last }) => first !== null && last !== null && last >= fromMs && first < toMs)
      .map(({ day }) => day),
  )
  const parts = span.days.filter(({ day }) => within.has(day))
  return {
    first: Math.min(...parts.map(({ first }) => first)),
    last: Math.max(...parts.map(({ last }) => last)),
  }
}
