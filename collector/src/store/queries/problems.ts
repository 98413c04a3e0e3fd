import { type Help, helpFor } from '../../help.ts'
import { term } from '../../search/syntax.ts'
import { sql, type TimeRange, within } from '../sql.ts'
import type { QueryContext } from './context.ts'

const MAX_PROBLEMS = 200
const MAX_SOURCES = 20
const SEVERITIES = ['error', 'warning', 'info']

interface Problem extends Help {
  kind: 'event' | 'request' | 'delivery' | 'plan'
  reason: string
  count: number
  lastSeen: string
  sources: Array<{ name: string; count: number }>
  example: string
  q: string
}

export function problems(context: QueryContext, range: TimeRange) {
  const found = [
    ...ofEvents(context, range),
    ...ofRequests(context, range),
    ...ofDeliveries(context, range),
    ...ofPlan(context, range),
  ]
  found.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || b.count - a.count)
  return { problems: found.slice(0, MAX_PROBLEMS) }
}

// With `max`, SQLite takes the other columns from the row that has the maximum.
function ofEvents({ database }: QueryContext, range: TimeRange): Problem[] {
  const rows = database.all<{ reason: string; source: string; count: number; at: number; seq: number }>(
    sql`SELECT reason, source, count(*) AS count, max(received_at) AS at, seq FROM event
        WHERE ${within('received_at', range)} AND reason IS NOT NULL GROUP BY reason, source ORDER BY count DESC, reason, source`,
  )
  const byReason = new Map<string, Problem & { atMs: number }>()
  for (const { reason, source: name, count, at, seq } of rows) {
    const known = byReason.get(reason)
    const newest = { lastSeen: new Date(at).toISOString(), example: String(seq), atMs: at }
    if (known === undefined) {
      const q = term('reason', reason)
      const sources = [{ name, count }]
      byReason.set(reason, { kind: 'event', reason, count, ...helpFor(reason), ...newest, sources, q })
      continue
    }
    known.count += count
    if (known.sources.length < MAX_SOURCES) known.sources.push({ name, count })
    if (at > known.atMs) Object.assign(known, newest)
  }
  return [...byReason.values()].map(({ atMs: _, ...problem }) => problem)
}

/** A row of what went wrong; `id` is that of the newest example. */
interface Row {
  count: number
  at: number
  id: number
}

/** A problem that is not of single events. */
function problem(
  { count, at, id }: Row,
  given: Omit<Problem, 'count' | 'lastSeen' | 'sources' | 'example'>,
): Problem {
  return { ...given, count, lastSeen: new Date(at).toISOString(), sources: [], example: String(id) }
}

function ofRequests({ database }: QueryContext, range: TimeRange): Problem[] {
  const rows = database.all<Row & { status: number; code: string | null }>(
    sql`SELECT status, code, count(*) AS count, max(at) AS at, id FROM request
        WHERE ${within('at', range)} AND (status >= 400 OR status = 0) GROUP BY status, code`,
  )
  return rows.map((row) => {
    const { status, code } = row
    const answer = status === 0 ? 'the connection ended before there was a response' : `answered ${status}`
    const help = helpFor(code ?? '')
    const isKnown = code !== null && help.meaning !== code
    return problem(row, {
      ...help,
      kind: 'request',
      reason: code ?? `status_${status}`,
      meaning: isKnown ? help.meaning : `${answer}${code === null ? '' : `: ${code}`}`,
      severity: status === 429 || status === 0 ? 'warning' : help.severity,
      q: code === null ? `status:${status}` : `status:${status} ${term('code', code)}`,
    })
  })
}

function ofDeliveries({ database }: QueryContext, range: TimeRange): Problem[] {
  const rows = database.all<Row & { destination: string; reason: string | null }>(
    sql`SELECT destination, reason, count(*) AS count, max(received_at) AS at, seq AS id FROM delivery
        WHERE ${within('received_at', range)} AND state = 'failed' GROUP BY destination, reason`,
  )
  return rows.map((row) =>
    problem(row, {
      kind: 'delivery',
      reason: row.reason ?? '',
      meaning: `the delivery to ${row.destination} was given up: ${row.reason}`,
      remedy: 'Look at the receiver, then retry the failed deliveries under Destinations.',
      severity: 'error',
      field: null,
      q: `${term('destination', row.destination)} delivery:failed`,
    }),
  )
}

function ofPlan({ database }: QueryContext, range: TimeRange): Problem[] {
  const rows = database.all<Row>(
    sql`SELECT count(*) AS count, max(received_at) AS at, seq AS id FROM event
        WHERE violations IS NOT NULL AND ${within('received_at', range)}`,
  )
  return rows
    .filter(({ count }) => count > 0)
    .map((row) =>
      problem(row, {
        kind: 'plan',
        reason: 'violation',
        meaning: 'the event violates the tracking plan',
        remedy:
          'Open an event: it names each wrong field and what the plan expects. Mend the call or the plan.',
        severity: 'warning',
        field: null,
        q: 'violation:*',
      }),
    )
}
