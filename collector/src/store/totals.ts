import type { Database } from './database.ts'
import { type Sql, sql } from './sql.ts'
import { statusOf } from './summary.ts'

/** Names of sources are chosen by callers. */
const MAX_NAMES = 1000

export interface Group {
  source: string
  kind: string | null
  reason: string | null
  count: number
}

interface RequestCounts {
  requests: number
  refused: number
}

/** How many events and requests are stored, without counting them for each question. */
export class Totals {
  readonly byReason = new Map<string, number>()
  readonly byType = new Map<string, number>()
  readonly bySource = new Map<string, number>()
  accepted = 0
  rejected = 0
  /** Events that repeat another one. They are not in `rejected`. */
  repeated = 0
  requests = 0
  /** Requests with a status of 400 or above. */
  refused = 0

  get events(): number {
    return this.accepted + this.rejected + this.repeated
  }

  addEvents(groups: readonly Group[], by: 1 | -1): void {
    for (const { source, kind, reason, count } of groups) this.count(source, kind, reason, by * count)
  }

  addRequests({ requests, refused }: RequestCounts, by: 1 | -1): void {
    this.requests += by * requests
    this.refused += by * refused
  }

  count(source: string, kind: string | null, reason: string | null, by: number): void {
    this[statusOf(reason)] += by
    if (reason !== null) increase(this.byReason, reason, by)
    increase(this.byType, kind ?? '', by)
    increase(this.bySource, source, by)
  }

  clear(): void {
    for (const map of [this.byReason, this.byType, this.bySource]) map.clear()
    this.accepted = this.rejected = this.repeated = this.requests = this.refused = 0
  }
}

/** Counts the stored events for which a condition holds. */
export function countEvents(database: Database, where: Sql): Group[] {
  return database.all<Group>(
    sql`SELECT source, kind, reason, count(*) AS count FROM event WHERE ${where} GROUP BY source, kind, reason`,
  )
}

export function countRequests(database: Database, where: Sql): RequestCounts {
  const [counts] = database.all<RequestCounts>(
    sql`SELECT count(*) AS requests, count(*) FILTER (WHERE status >= 400) AS refused FROM request WHERE ${where}`,
  )
  return counts as RequestCounts
}

function increase(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by
  if (count === 0) counts.delete(name)
  else if (counts.has(name) || counts.size < MAX_NAMES) counts.set(name, count)
}
