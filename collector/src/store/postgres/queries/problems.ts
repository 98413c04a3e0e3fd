import type { Reason } from '../../../record.ts'
import { bucketsOf } from '../../buckets.ts'
import type { TimeRange } from '../../queries.ts'
import type { Problem, Problems } from '../../query-results.ts'
import {
  deliveryProblem,
  eventProblems,
  ordered,
  planProblem,
  requestProblem,
} from '../../results/problems.ts'
import { slices } from '../slices.ts'
import { type Bounds, boundsOf } from '../span.ts'
import type { QueryContext } from './context.ts'

export async function problems(context: QueryContext, range: TimeRange): Promise<Problems> {
  const bounds = await boundsOf(context.sql, context.span, range)
  const found = [
    ...(await problemsOfEvents(context, range, bounds)),
    ...(await problemsOfRequests(context, range)),
    ...(await problemsOfDeliveries(context, range)),
  ]
  const { problem, isComplete } = await problemOfPlan(context, range, bounds)
  if (problem !== undefined) found.push(problem)
  return { problems: ordered(found), isComplete }
}

async function problemsOfEvents(context: QueryContext, range: TimeRange, bounds: Bounds): Promise<Problem[]> {
  const { first, end } = bucketsOf(range)
  const rows = await context.sql.query<{ reason: Reason; source: string; count: number; last: number }>(
    `SELECT reason, source.name AS source, sum(count) AS count, max(bucket) AS last FROM tally
     JOIN source ON source.id = source_id WHERE bucket >= $1 AND bucket < $2 AND reason <> '' AND count > 0
     GROUP BY reason, source_id, source.name ORDER BY 3 DESC, reason, source.name`,
    [first, end],
  )
  const byReason = eventProblems(rows)
  await addExamples(context, range, bounds, byReason)
  return [...byReason.values()]
}

/** The newest record of each reason, by which a problem can be looked at. */
async function addExamples(
  { sql }: QueryContext,
  { fromMs = Number.MIN_SAFE_INTEGER, toMs = Number.MAX_SAFE_INTEGER }: TimeRange,
  { first, last }: Bounds,
  byReason: ReadonlyMap<string, Problem>,
): Promise<void> {
  const rows = await sql.query<{ reason: string; seq: number; at: number }>(
    `SELECT reasons.reason, newest.seq, newest.at FROM unnest($1::text[]) AS reasons(reason) CROSS JOIN LATERAL
       (SELECT seq, received_at AS at FROM event
        WHERE event.reason = reasons.reason AND seq BETWEEN $2 AND $3 AND received_at >= $4 AND received_at < $5
        ORDER BY seq DESC LIMIT 1) AS newest`,
    [[...byReason.keys()], first, last, fromMs, toMs],
  )
  for (const { reason, seq, at } of rows) {
    const problem = byReason.get(reason)
    if (problem === undefined) continue
    problem.example = String(seq)
    problem.lastSeen = new Date(at).toISOString()
  }
}

async function problemsOfRequests({ sql }: QueryContext, range: TimeRange): Promise<Problem[]> {
  const { first, end } = bucketsOf(range)
  const rows = await sql.query<{ status: number; code: string; count: number; last: number }>(
    `SELECT status, code, sum(count) AS count, max(bucket) AS last FROM request_tally
     WHERE bucket >= $1 AND bucket < $2 AND (status >= 400 OR status = 0) GROUP BY status, code ORDER BY status, code`,
    [first, end],
  )
  const found: Problem[] = []
  for (const row of rows) {
    const [example] = await sql.query<{ id: number }>(
      "SELECT id FROM request WHERE status = $1 AND coalesce(code, '') = $2 ORDER BY seq DESC LIMIT 1",
      [row.status, row.code],
    )
    found.push(requestProblem(row, example?.id))
  }
  return found
}

async function problemsOfDeliveries({ sql }: QueryContext, range: TimeRange): Promise<Problem[]> {
  const { first, end } = bucketsOf(range)
  const rows = await sql.query<{ destination: string; reason: string; count: number; last: number }>(
    `SELECT destination, reason, sum(count) AS count, max(bucket) AS last FROM delivery_tally
     WHERE bucket >= $1 AND bucket < $2 AND state = 'failed' GROUP BY destination, reason
     HAVING sum(count) > 0 ORDER BY destination, reason`,
    [first, end],
  )
  const found: Problem[] = []
  for (const row of rows) {
    const [example] = await sql.query<{ seq: number }>(
      `SELECT seq FROM delivery WHERE destination = $1 AND state = 'failed' AND reason = $2
       ORDER BY seq DESC LIMIT 1`,
      [row.destination, row.reason],
    )
    found.push(deliveryProblem(row, example?.seq))
  }
  return found
}

async function problemOfPlan(
  { sql, span, budget }: QueryContext,
  { fromMs = Number.MIN_SAFE_INTEGER, toMs = Number.MAX_SAFE_INTEGER }: TimeRange,
  bounds: Bounds,
): Promise<{ problem: Problem | undefined; isComplete: boolean }> {
  let count = 0
  let newest: { seq: number; at: number } | undefined
  let isComplete = true
  for (const slice of slices(bounds, 'newest')) {
    const where = `FROM event WHERE violations IS NOT NULL AND seq BETWEEN $1 AND $2
      AND day BETWEEN $3::date AND $4::date AND received_at >= $5 AND received_at < $6`
    const values = [slice.first, slice.last, ...span.daysOf(slice), fromMs, toMs]
    const [row] = await sql.query<{ count: number }>(`SELECT count(*) AS count ${where}`, values)
    count += row?.count ?? 0
    if (newest === undefined && count > 0) {
      const [found] = await sql.query<{ seq: number; at: number }>(
        `SELECT seq, received_at AS at ${where} ORDER BY seq DESC LIMIT 1`,
        values,
      )
      newest = found
    }
    isComplete = slice.first === bounds.first || !budget.isUsedUp
    if (!isComplete) break
  }
  return {
    problem: newest === undefined ? undefined : planProblem(count, newest.seq, newest.at),
    isComplete,
  }
}
