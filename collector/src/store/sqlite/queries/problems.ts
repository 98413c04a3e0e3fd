import type { Reason } from '../../../record.ts'
import { bucketsOf } from '../../buckets.ts'
import { Budget } from '../../budget.ts'
import type { TimeRange } from '../../queries.ts'
import type { Problem, Problems } from '../../query-results.ts'
import {
  deliveryProblem,
  EXAMPLES_MS,
  eventProblems,
  ordered,
  planProblem,
  requestProblem,
} from '../../results/problems.ts'
import { boundsOf, slices } from '../slices.ts'
import type { Work } from '../work.ts'
import type { QueryContext } from './context.ts'

export function* problems(context: QueryContext, range: TimeRange): Work<Problems> {
  const found = [
    ...problemsOfEvents(context, range),
    ...problemsOfRequests(context, range),
    ...problemsOfDeliveries(context, range),
  ]
  yield
  const broken = yield* problemOfPlan(context, range)
  if (broken !== undefined) found.push(broken)
  return { problems: ordered(found), isComplete: !context.budget.isUsedUp }
}

function problemsOfEvents({ database }: QueryContext, range: TimeRange): Problem[] {
  const { first, end } = bucketsOf(range)
  const rows = database.all<{ reason: Reason; source: string; count: number; last: number }>(
    `SELECT reason, source.name AS source, sum(count) AS count, max(bucket) AS last FROM tally
     JOIN source ON source.id = source_id WHERE bucket >= ? AND bucket < ? AND reason <> '' AND count > 0
     GROUP BY reason, source_id ORDER BY 3 DESC, reason, source.name`,
    first,
    end,
  )
  const byReason = eventProblems(rows)
  addExamples(database, range, byReason)
  return [...byReason.values()]
}

/** The newest record of each reason, by which a problem can be looked at; looked for until the time is up. */
function addExamples(
  database: QueryContext['database'],
  range: TimeRange,
  byReason: ReadonlyMap<string, Problem>,
): void {
  let missing = byReason.size
  if (missing === 0) return
  const bounds = boundsOf(database, range)
  const budget = new Budget(EXAMPLES_MS)
  for (const { first, last } of slices(bounds, 'newest', 16)) {
    const rows = database.all<{ reason: string; seq: number; at: number }>(
      `SELECT reason, max(seq) AS seq, received_at AS at FROM event INDEXED BY event_facts
       WHERE seq BETWEEN ? AND ? AND reason IS NOT NULL AND received_at >= ? AND received_at < ? GROUP BY reason`,
      first,
      last,
      range.fromMs ?? Number.MIN_SAFE_INTEGER,
      range.toMs ?? Number.MAX_SAFE_INTEGER,
    )
    for (const { reason, seq, at } of rows) {
      const problem = byReason.get(reason)
      if (problem === undefined || problem.example !== null) continue
      problem.example = String(seq)
      problem.lastSeen = new Date(at).toISOString()
      missing--
    }
    if (missing === 0 || budget.isUsedUp) return
  }
}

function problemsOfRequests({ database }: QueryContext, range: TimeRange): Problem[] {
  const { first, end } = bucketsOf(range)
  const rows = database.all<{ status: number; code: string; count: number; last: number }>(
    `SELECT status, code, sum(count) AS count, max(bucket) AS last FROM request_tally
     WHERE bucket >= ? AND bucket < ? AND (status >= 400 OR status = 0) GROUP BY status, code`,
    first,
    end,
  )
  return rows.map((row) => {
    const example = database.value<number>(
      "SELECT id AS value FROM request WHERE status = ? AND coalesce(code, '') = ? ORDER BY seq DESC LIMIT 1",
      row.status,
      row.code,
    )
    return requestProblem(row, example)
  })
}

function problemsOfDeliveries({ database }: QueryContext, range: TimeRange): Problem[] {
  const { first, end } = bucketsOf(range)
  const rows = database.all<{ destination: string; reason: string; count: number; last: number }>(
    `SELECT destination, reason, sum(count) AS count, max(bucket) AS last FROM delivery_tally
     WHERE bucket >= ? AND bucket < ? AND state = 'failed' GROUP BY destination, reason HAVING sum(count) > 0`,
    first,
    end,
  )
  return rows.map((row) => {
    const example = database.value<number>(
      "SELECT seq AS value FROM delivery WHERE destination = ? AND state = 'failed' AND reason = ? ORDER BY seq DESC LIMIT 1",
      row.destination,
      row.reason,
    )
    return deliveryProblem(row, example)
  })
}

function* problemOfPlan({ database, budget }: QueryContext, range: TimeRange): Work<Problem | undefined> {
  const bounds = boundsOf(database, range)
  let count = 0
  let example: number | undefined
  for (const { first, last } of slices(bounds, 'newest', 64)) {
    const row = database.get<{ count: number; seq: number | null }>(
      `SELECT count(*) AS count, max(seq) AS seq FROM event INDEXED BY event_violations
       WHERE violations IS NOT NULL AND seq BETWEEN ? AND ? AND received_at >= ? AND received_at < ?`,
      first,
      last,
      range.fromMs ?? Number.MIN_SAFE_INTEGER,
      range.toMs ?? Number.MAX_SAFE_INTEGER,
    )
    count += row?.count ?? 0
    example ??= row?.seq ?? undefined
    yield
    if (budget.isUsedUp) break
  }
  if (example === undefined) return undefined
  const atMs = database.value<number>('SELECT received_at AS value FROM event WHERE seq = ?', example)
  return planProblem(count, example, atMs ?? 0)
}
