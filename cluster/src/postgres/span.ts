import type { Bounds } from 'trackpost-collector/sql'
import type { Queryable } from './database.ts'
import { shownDay } from './partitions.ts'

/** The sequence numbers of the stored events, and the day on which each event was stored. */
export class Span implements Bounds {
  readonly first: number
  readonly last: number
  readonly #days: ReadonlyArray<{ firstSeq: number; day: string }>

  constructor(bounds: Bounds, days: ReadonlyArray<{ firstSeq: number; day: string }>) {
    this.first = Math.max(bounds.first, days[0]?.firstSeq ?? 1)
    this.last = bounds.last
    this.#days = days
  }

  /** The first and the last day on which the events within these bounds were stored. */
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

  /** The bounds of each day, in the order of the sequence numbers. A day may occur twice if the clock was set back. */
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
