import type { Database } from './database.ts'
import { raw, type Sql, sql } from './sql.ts'

/** Names of sources are chosen by callers. */
const MAX_NAMES = 1000

interface Group {
  source: string
  kind: string | null
  reason: string | null
  count: number
}

/** How many events and requests are stored, without counting them for each question. */
export class Totals {
  readonly byReason = new Map<string, number>()
  readonly byType = new Map<string, number>()
  readonly bySource = new Map<string, number>()
  events = 0
  accepted = 0
  rejected = 0
  /** Events that repeat another one. They are not in `rejected`. */
  repeated = 0
  requests = 0
  /** Requests with a status of 400 or above. */
  refused = 0

  /** Counts what is stored. */
  load(database: Database): void {
    this.clear()
    this.add(database, raw('TRUE'))
    this.addRequests(database, raw('TRUE'), 1)
  }

  /** Counts the stored events for which a condition holds. */
  add(database: Database, where: Sql): void {
    const groups = database.all<Group>(
      sql`SELECT source, kind, reason, count(*) AS count FROM event WHERE ${where} GROUP BY source, kind, reason`,
    )
    for (const { source, kind, reason, count } of groups) this.count(source, kind, reason, count)
  }

  /** Takes off events that were counted before they were deleted. */
  subtract({ events, accepted, rejected, repeated, byReason, byType, bySource }: Totals): void {
    this.events -= events
    this.accepted -= accepted
    this.rejected -= rejected
    this.repeated -= repeated
    for (const [name, count] of byReason) increase(this.byReason, name, -count)
    for (const [name, count] of byType) increase(this.byType, name, -count)
    for (const [name, count] of bySource) increase(this.bySource, name, -count)
  }

  addRequests(database: Database, where: Sql, by: 1 | -1): void {
    const row = database.get<{ requests: number; refused: number }>(
      sql`SELECT count(*) AS requests, count(*) FILTER (WHERE status >= 400) AS refused FROM request WHERE ${where}`,
    )
    this.requests += by * (row?.requests ?? 0)
    this.refused += by * (row?.refused ?? 0)
  }

  count(source: string, kind: string | null, reason: string | null, by: number): void {
    this.events += by
    if (reason === null) this.accepted += by
    else if (reason === 'duplicate') this.repeated += by
    else this.rejected += by
    if (reason !== null) increase(this.byReason, reason, by)
    increase(this.byType, kind ?? '', by)
    increase(this.bySource, source, by)
  }

  clear(): void {
    for (const map of [this.byReason, this.byType, this.bySource]) map.clear()
    this.events = this.accepted = this.rejected = this.repeated = this.requests = this.refused = 0
  }
}

function increase(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by
  if (count === 0) counts.delete(name)
  else if (counts.has(name) || counts.size < MAX_NAMES) counts.set(name, count)
}
