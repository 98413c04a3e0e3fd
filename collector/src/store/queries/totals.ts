import type { Total, Totals } from '../event-store.ts'
import { all, first, type Query, sql } from '../sql.ts'

export function* totals(): Query<Totals> {
  const events = yield* all<Total>(
    sql`SELECT source.name AS source, kind, reason, count FROM total JOIN source ON source.id = source_id WHERE count <> 0`,
  )
  const row = yield* first<{ requests: number | null; refused: number | null }>(
    sql`SELECT sum(count) AS requests, sum(CASE WHEN status >= 400 THEN count END) AS refused FROM request_tally`,
  )
  return { events, requests: row?.requests ?? 0, refused: row?.refused ?? 0 }
}
