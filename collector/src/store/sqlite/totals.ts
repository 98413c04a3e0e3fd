import type { Total, Totals } from '../event-store.ts'
import type { Database } from './database.ts'

/** How many events and requests there are and were, by what became of them. */
export function totalsOf(database: Database): Totals {
  const events = database.all<Total>(
    'SELECT source.name AS source, kind, reason, count FROM total JOIN source ON source.id = source_id WHERE count <> 0',
  )
  const row = database.get<{ requests: number | null; refused: number | null }>(
    'SELECT sum(count) AS requests, sum(CASE WHEN status >= 400 THEN count END) AS refused FROM request_tally',
  )
  return { events, requests: row?.requests ?? 0, refused: row?.refused ?? 0 }
}
