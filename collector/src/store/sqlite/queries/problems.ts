import { helpFor } from '../../../help.ts'
import type { Reason } from '../../../record.ts'
import { term } from '../../../search/syntax.ts'
import type { TimeRange } from '../../queries.ts'
import type { Problem, Problems } from '../../query-results.ts'
import { BUCKET_MS } from '../schema.ts'
import { boundsOf, slices } from '../slices.ts'
import { Budget, type Work } from '../work.ts'
import type { QueryContext } from './context.ts'
import { bucketsOf } from './overview.ts'

const MAX_PROBLEMS = 200
/** So long may the examples be looked for. */
const EXAMPLES_MS = 60

const SEVERITIES = ['error', 'warning', 'info']

export function* problems(context: QueryContext, range: TimeRange): Work<Problems> {
  const found = [
    ...eventProblems(context, range),
    ...requestProblems(context, range),
    ...deliveryProblems(context, range),
  ]
  yield
  const broken = yield* planProblem(context, range)
  if (broken !== undefined) found.push(broken)
  found.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || b.count - a.count)
  return { problems: found.slice(0, MAX_PROBLEMS), isComplete: !context.budget.isUsedUp }
}

function eventProblems({ database }: QueryContext, range: TimeRange): Problem[] {
  const { first, end } = bucketsOf(range)
  const rows = database.all<{ reason: Reason; source: string; count: number; last: number }>(
    `SELECT reason, source.name AS source, sum(count) AS count, max(bucket) AS last FROM tally
     JOIN source ON source.id = source_id WHERE bucket >= ? AND bucket < ? AND reason <> '' AND count > 0
     GROUP BY reason, source_id ORDER BY 3 DESC`,
    first,
    end,
  )
  const byReason = new Map<string, Problem>()
  for (const { reason, source, count, last } of rows) {
    const known = byReason.get(reason)
    const lastSeen = new Date((last + 1) * BUCKET_MS - 1).toISOString()
    if (known === undefined) {
      byReason.set(reason, {
        kind: 'event',
        reason,
        count,
        ...helpFor(reason),
        lastSeen,
        sources: [{ name: source, count }],
        example: null,
        q: term('reason', reason),
      })
    } else {
      known.count += count
      if (lastSeen > known.lastSeen) known.lastSeen = lastSeen
      if (known.sources.length < 20) known.sources.push({ name: source, count })
    }
  }
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
       WHERE seq BETWEEN ? AND ? AND reason IS NOT NULL GROUP BY reason`,
      first,
      last,
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

function requestProblems({ database }: QueryContext, range: TimeRange): Problem[] {
  const { first, end } = bucketsOf(range)
  const rows = database.all<{ status: number; code: string; count: number; last: number }>(
    `SELECT status, code, sum(count) AS count, max(bucket) AS last FROM request_tally
     WHERE bucket >= ? AND bucket < ? AND (status >= 400 OR status = 0) GROUP BY status, code`,
    first,
    end,
  )
  return rows.map(({ status, code, count, last }) => {
    const reason = code === '' ? `status_${status}` : code
    const example = database.value<number>(
      "SELECT id AS value FROM request WHERE status = ? AND coalesce(code, '') = ? ORDER BY seq DESC LIMIT 1",
      status,
      code,
    )
    const meaning = status === 0 ? 'the connection ended before there was a response' : `answered ${status}`
    const help = helpFor(code)
    return {
      kind: 'request' as const,
      reason,
      count,
      ...help,
      meaning: help.meaning === code ? `${meaning}${code === '' ? '' : `: ${code}`}` : help.meaning,
      severity: status === 429 || status === 0 ? ('warning' as const) : help.severity,
      lastSeen: new Date((last + 1) * BUCKET_MS - 1).toISOString(),
      sources: [],
      example: example === undefined ? null : String(example),
      q: code === '' ? `status:${status}` : `status:${status} ${term('code', code)}`,
    }
  })
}

function deliveryProblems({ database }: QueryContext, range: TimeRange): Problem[] {
  const { first, end } = bucketsOf(range)
  const rows = database.all<{ destination: string; reason: string; count: number; last: number }>(
    `SELECT destination, reason, sum(count) AS count, max(bucket) AS last FROM delivery_tally
     WHERE bucket >= ? AND bucket < ? AND state = 'failed' GROUP BY destination, reason HAVING sum(count) > 0`,
    first,
    end,
  )
  return rows.map(({ destination, reason, count, last }) => {
    const example = database.value<number>(
      "SELECT seq AS value FROM delivery WHERE destination = ? AND state = 'failed' AND reason = ? ORDER BY seq DESC LIMIT 1",
      destination,
      reason,
    )
    return {
      kind: 'delivery' as const,
      reason,
      count,
      meaning: `${destination} was given up: ${reason}`,
      remedy: 'Look at the receiver, then retry the failed ones under Destinations.',
      severity: 'error' as const,
      field: null,
      lastSeen: new Date((last + 1) * BUCKET_MS - 1).toISOString(),
      sources: [],
      example: example === undefined ? null : String(example),
      q: `${term('destination', destination)} delivery:failed`,
    }
  })
}

function* planProblem({ database, budget }: QueryContext, range: TimeRange): Work<Problem | undefined> {
  const bounds = boundsOf(database, range)
  let count = 0
  let example: number | undefined
  for (const { first, last } of slices(bounds, 'newest', 64)) {
    const row = database.get<{ count: number; seq: number | null }>(
      `SELECT count(*) AS count, max(seq) AS seq FROM event INDEXED BY event_violations
       WHERE violations IS NOT NULL AND seq BETWEEN ? AND ?`,
      first,
      last,
    )
    count += row?.count ?? 0
    example ??= row?.seq ?? undefined
    yield
    if (budget.isUsedUp) break
  }
  if (example === undefined) return undefined
  const atMs = database.value<number>('SELECT received_at AS value FROM event WHERE seq = ?', example)
  return {
    kind: 'plan',
    reason: 'violation',
    count,
    meaning: 'the event is not as the tracking plan has it',
    remedy: 'Open one: it names each field and what the plan expects. Mend the call, or the plan.',
    severity: 'warning',
    field: null,
    lastSeen: new Date(atMs ?? 0).toISOString(),
    sources: [],
    example: String(example),
    q: 'violation:*',
  }
}
