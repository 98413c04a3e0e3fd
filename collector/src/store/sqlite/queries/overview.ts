import { helpFor } from '../../../help.ts'
import type { Reason } from '../../../record.ts'
import { term } from '../../../search/syntax.ts'
import type { TimeRange } from '../../queries.ts'
import type { Loss, Overview, Step } from '../../query-results.ts'
import { BUCKET_MS } from '../schema.ts'
import type { Work } from '../work.ts'
import type { QueryContext } from './context.ts'

const HOUR_MS = 3_600_000
const MAX_BUCKETS = 120
const WIDTHS_S = [10, 30, 60, 300, 600, 1800, 3600, 10_800, 21_600, 43_200, 86_400]
const MAX_LOSSES = 200

/** Time in whole buckets, as arrivals are counted. */
export interface Buckets {
  first: number
  /** Not part of it. */
  end: number
}

export function bucketsOf({ fromMs, toMs }: TimeRange): Buckets {
  return {
    first: fromMs === undefined ? 0 : Math.floor(fromMs / BUCKET_MS),
    end: toMs === undefined ? Number.MAX_SAFE_INTEGER : Math.ceil(toMs / BUCKET_MS),
  }
}

export function* overview(context: QueryContext, range: TimeRange): Work<Overview> {
  const { nowMs } = context
  const toMs = range.toMs ?? nowMs + 1
  const buckets = bucketsOf({ fromMs: range.fromMs ?? toMs - HOUR_MS, toMs })
  const seconds = Math.max(1, ((buckets.end - buckets.first) * BUCKET_MS) / 1000)
  const { steps, losses } = stepsOf(context, buckets, seconds)
  yield
  const { widthMs, series } = seriesOf(context, buckets)
  yield
  return {
    from: isoTime(buckets.first * BUCKET_MS),
    to: isoTime(buckets.end * BUCKET_MS),
    bucketMs: widthMs,
    requests: requestsOf(context, buckets),
    steps,
    losses,
    series,
    isComplete: true,
  }
}

function isoTime(timeMs: number): string {
  return new Date(Math.max(-8.64e15, Math.min(8.64e15, timeMs))).toISOString()
}

function stepsOf(
  { database }: QueryContext,
  { first, end }: Buckets,
  seconds: number,
): { steps: Step[]; losses: Loss[] } {
  const losses: Loss[] = []
  let received = 0
  let accepted = 0
  const reasons = database.all<{ reason: Reason | ''; count: number }>(
    'SELECT reason, sum(count) AS count FROM tally WHERE bucket >= ? AND bucket < ? GROUP BY reason',
    first,
    end,
  )
  for (const { reason, count } of reasons) {
    received += count
    if (reason === '') accepted += count
    else if (count > 0) {
      losses.push({
        step: 'accepted',
        reason,
        count,
        severity: helpFor(reason).severity,
        q: term('reason', reason),
      })
    }
  }
  const states = { pending: 0, delivered: 0, skipped: 0, failed: 0 }
  const rows = database.all<{
    destination: string
    state: keyof typeof states
    reason: string
    count: number
  }>(
    `SELECT destination, state, reason, sum(count) AS count FROM delivery_tally
     WHERE bucket >= ? AND bucket < ? GROUP BY destination, state, reason`,
    first,
    end,
  )
  for (const { destination, state, reason, count } of rows) {
    states[state] += count
    if (count <= 0 || (state !== 'skipped' && state !== 'failed')) continue
    losses.push({
      step: state === 'skipped' ? 'filtered' : 'delivered',
      destination,
      reason,
      count,
      severity: state === 'skipped' ? 'info' : 'error',
      q: `${term('destination', destination)} delivery:${state}`,
    })
  }
  const { pending, delivered, skipped, failed } = states
  const step = (name: Step['name'], unit: Step['unit'], count: number, lost: number): Step => ({
    name,
    unit,
    count,
    perSecond: Math.round((count / seconds) * 1000) / 1000,
    lost,
  })
  losses.sort((a, b) => b.count - a.count)
  return {
    steps: [
      step('received', 'events', received, 0),
      step('accepted', 'events', accepted, received - accepted),
      step('filtered', 'deliveries', pending + delivered + failed, skipped),
      { ...step('delivered', 'deliveries', delivered, failed), pending },
    ],
    losses: losses.slice(0, MAX_LOSSES),
  }
}

function seriesOf(
  { database }: QueryContext,
  { first, end }: Buckets,
): { widthMs: number; series: Overview['series'] } {
  const lengthMs = (end - first) * BUCKET_MS
  const fitting = WIDTHS_S.find((seconds) => lengthMs / (seconds * 1000) <= MAX_BUCKETS)
  const widthMs =
    fitting === undefined ? Math.ceil(lengthMs / MAX_BUCKETS / 86_400_000) * 86_400_000 : fitting * 1000
  const perSlot = widthMs / BUCKET_MS
  const rows = database.all<{ slot: number; accepted: number; rejected: number }>(
    `SELECT (bucket - CAST(?1 AS INTEGER)) / CAST(?2 AS INTEGER) AS slot, sum(CASE WHEN reason = '' THEN count ELSE 0 END) AS accepted,
       sum(CASE WHEN reason = '' THEN 0 ELSE count END) AS rejected
     FROM tally WHERE bucket >= ?1 AND bucket < ?3 GROUP BY slot`,
    first,
    perSlot,
    end,
  )
  const bySlot = new Map(rows.map(({ slot, accepted, rejected }) => [slot, { accepted, rejected }]))
  const slots = Math.max(1, Math.ceil((end - first) / perSlot))
  const series = Array.from({ length: Math.min(slots, MAX_BUCKETS) }, (_, slot) => ({
    at: isoTime((first + slot * perSlot) * BUCKET_MS),
    ...(bySlot.get(slot) ?? { accepted: 0, rejected: 0 }),
  }))
  return { widthMs, series }
}

function requestsOf({ database }: QueryContext, { first, end }: Buckets): Overview['requests'] {
  const row = database.get<{ total: number | null; refused: number | null }>(
    `SELECT sum(count) AS total, sum(CASE WHEN status >= 400 THEN count END) AS refused
     FROM request_tally WHERE bucket >= ? AND bucket < ?`,
    first,
    end,
  )
  return { total: row?.total ?? 0, refused: row?.refused ?? 0 }
}
