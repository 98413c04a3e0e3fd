import { helpFor } from '../../help.ts'
import type { Reason } from '../../record.ts'
import { term } from '../../search/syntax.ts'
import { bucketsOf, endOfBucket } from '../buckets.ts'
import type { Bounds } from '../dialect.ts'
import type { TimeRange } from '../event-reader.ts'
import type { Problem, Problems } from '../query-results.ts'
import { all, first, type Query, sql } from '../sql.ts'
import { closed, type QueryContext } from './context.ts'

const MAX_PROBLEMS = 200
const MAX_SOURCES = 20
/** Time limit of the search for the newest event of each reason. */
const EXAMPLES_MS = 60
const SEVERITIES = ['error', 'warning', 'info']

export function* problems(context: QueryContext, range: TimeRange): Query<Problems> {
  const bounds = yield* context.dialect.boundsOf(range)
  const found = [
    ...(yield* problemsOfEvents(context, range, bounds)),
    ...(yield* problemsOfRequests(range)),
    ...(yield* problemsOfDeliveries(range)),
  ]
  const { problem, isComplete } = yield* problemOfPlan(context, range, bounds)
  if (problem !== undefined) found.push(problem)
  return { problems: ordered(found), isComplete }
}

function* problemsOfEvents(
  { dialect, budget }: QueryContext,
  range: TimeRange,
  bounds: Bounds,
): Query<Problem[]> {
  const { first, end } = bucketsOf(range)
  const rows = yield* all<{ reason: Reason; source: string; count: number; last: number }>(
    sql`SELECT reason, source.name AS source, sum(count) AS count, max(bucket) AS last FROM tally
        JOIN source ON source.id = source_id WHERE bucket >= ${first} AND bucket < ${end} AND reason <> '' AND count > 0
        GROUP BY reason, source_id, source.name ORDER BY 3 DESC, reason, source.name`,
  )
  const byReason = new Map<string, Problem>()
  // The most frequent source of each reason comes first.
  for (const { reason, source, count, last } of rows) {
    const known = byReason.get(reason)
    const lastSeen = endOfBucket(last)
    if (known === undefined) {
      const sources = [{ name: source, count }]
      const q = term('reason', reason)
      byReason.set(reason, {
        kind: 'event',
        reason,
        count,
        ...helpFor(reason),
        lastSeen,
        sources,
        example: null,
        q,
      })
    } else {
      known.count += count
      if (lastSeen > known.lastSeen) known.lastSeen = lastSeen
      if (known.sources.length < MAX_SOURCES) known.sources.push({ name: source, count })
    }
  }
  for (const { reason, seq, at } of yield* dialect.newestByReason(
    [...byReason.keys()],
    bounds,
    closed(range),
    budget.part(EXAMPLES_MS),
  )) {
    const problem = byReason.get(reason)
    if (problem === undefined) continue
    problem.example = String(seq)
    problem.lastSeen = new Date(at).toISOString()
  }
  return [...byReason.values()]
}

function* problemsOfRequests(range: TimeRange): Query<Problem[]> {
  const buckets = bucketsOf(range)
  const rows = yield* all<{ status: number; code: string; count: number; last: number }>(
    sql`SELECT status, code, sum(count) AS count, max(bucket) AS last FROM request_tally
        WHERE bucket >= ${buckets.first} AND bucket < ${buckets.end} AND (status >= 400 OR status = 0)
        GROUP BY status, code ORDER BY status, code`,
  )
  const found: Problem[] = []
  for (const row of rows) {
    const example = yield* first<{ id: number }>(
      sql`SELECT id FROM request WHERE status = ${row.status} AND coalesce(code, '') = ${row.code} ORDER BY seq DESC LIMIT 1`,
    )
    const { status, code, count, last } = row
    const meaning = status === 0 ? 'the connection ended before there was a response' : `answered ${status}`
    const help = helpFor(code)
    found.push({
      kind: 'request',
      reason: code === '' ? `status_${status}` : code,
      count,
      ...help,
      meaning: help.meaning === code ? `${meaning}${code === '' ? '' : `: ${code}`}` : help.meaning,
      severity: status === 429 || status === 0 ? 'warning' : help.severity,
      lastSeen: endOfBucket(last),
      sources: [],
      example: example === undefined ? null : String(example.id),
      q: code === '' ? `status:${status}` : `status:${status} ${term('code', code)}`,
    })
  }
  return found
}

function* problemsOfDeliveries(range: TimeRange): Query<Problem[]> {
  const buckets = bucketsOf(range)
  const rows = yield* all<{ destination: string; reason: string; count: number; last: number }>(
    sql`SELECT destination, reason, sum(count) AS count, max(bucket) AS last FROM delivery_tally
        WHERE bucket >= ${buckets.first} AND bucket < ${buckets.end} AND state = 'failed'
        GROUP BY destination, reason HAVING sum(count) > 0 ORDER BY destination, reason`,
  )
  const found: Problem[] = []
  for (const row of rows) {
    const example = yield* first<{ seq: number }>(
      sql`SELECT seq FROM delivery WHERE destination = ${row.destination} AND state = 'failed' AND reason = ${row.reason}
          ORDER BY seq DESC LIMIT 1`,
    )
    const { destination, reason, count, last } = row
    found.push({
      kind: 'delivery',
      reason,
      count,
      meaning: `the delivery to ${destination} was given up: ${reason}`,
      remedy: 'Look at the receiver, then retry the failed deliveries under Destinations.',
      severity: 'error',
      field: null,
      lastSeen: endOfBucket(last),
      sources: [],
      example: example === undefined ? null : String(example.seq),
      q: `${term('destination', destination)} delivery:failed`,
    })
  }
  return found
}

function* problemOfPlan(
  { dialect, budget }: QueryContext,
  range: TimeRange,
  bounds: Bounds,
): Query<{ problem: Problem | undefined; isComplete: boolean }> {
  const { fromMs, toMs } = closed(range)
  let count = 0
  let newest: { seq: number; at: number } | undefined
  let isComplete = true
  for (const slice of dialect.slices(bounds, 'newest', 'index')) {
    const broken = sql`FROM event ${dialect.indexHint('event_violations')} WHERE violations IS NOT NULL AND ${dialect.within(slice)}
      AND received_at >= ${fromMs} AND received_at < ${toMs}`
    const row = yield* first<{ count: number }>(sql`SELECT count(*) AS count ${broken}`)
    count += row?.count ?? 0
    if (newest === undefined && count > 0)
      newest = yield* first(sql`SELECT seq, received_at AS at ${broken} ORDER BY seq DESC LIMIT 1`)
    isComplete = slice.first === bounds.first || !budget.isUsedUp
    if (!isComplete) break
  }
  if (newest === undefined) return { problem: undefined, isComplete }
  const problem: Problem = {
    kind: 'plan',
    reason: 'violation',
    count,
    meaning: 'the event violates the tracking plan',
    remedy: 'Open an event: it names each wrong field and what the plan expects. Mend the call or the plan.',
    severity: 'warning',
    field: null,
    lastSeen: new Date(newest.at).toISOString(),
    sources: [],
    example: String(newest.seq),
    q: 'violation:*',
  }
  return { problem, isComplete }
}

function ordered(problems: readonly Problem[]): Problem[] {
  return problems
    .toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || b.count - a.count)
    .slice(0, MAX_PROBLEMS)
}
