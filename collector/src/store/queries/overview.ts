import { helpFor } from '../../help.ts'
import type { Reason } from '../../record.ts'
import { term } from '../../search/syntax.ts'
import { BUCKET_MS, type Buckets, bucketsOf } from '../buckets.ts'
import type { TimeRange } from '../event-reader.ts'
import type { Loss, Overview, Step } from '../query-results.ts'
import { all, first, type Query, sql } from '../sql.ts'
import type { QueryContext } from './context.ts'

const HOUR_MS = 3_600_000
const MAX_BUCKETS = 120
const WIDTHS_S = [10, 30, 60, 300, 600, 1800, 3600, 10_800, 21_600, 43_200, 86_400]
const MAX_LOSSES = 200

/** The reason of accepted events is ''. */
interface EventCount {
  reason: Reason | ''
  count: number
}

interface DeliveryCount {
  destination: string
  state: 'pending' | 'delivered' | 'skipped' | 'failed'
  reason: string
  count: number
}

/** The default range is the last hour. */
export function* overview({ nowMs }: QueryContext, range: TimeRange): Query<Overview> {
  const toMs = range.toMs ?? nowMs + 1
  const buckets = bucketsOf({ fromMs: range.fromMs ?? toMs - HOUR_MS, toMs })
  const inTime = sql`bucket >= ${buckets.first} AND bucket < ${buckets.end}`
  const widthMs = slotWidthMs(buckets)
  const width = widthMs / BUCKET_MS
  const requests = yield* first<Overview['requests']>(
    sql`SELECT coalesce(sum(count), 0) AS total, coalesce(sum(count) FILTER (WHERE status >= 400), 0) AS refused
        FROM request_tally WHERE ${inTime}`,
  )
  const events = yield* all<EventCount>(
    sql`SELECT reason, sum(count) AS count FROM tally WHERE ${inTime} GROUP BY reason ORDER BY reason`,
  )
  const deliveries = yield* all<DeliveryCount>(
    sql`SELECT destination, state, reason, sum(count) AS count FROM delivery_tally WHERE ${inTime}
        GROUP BY destination, state, reason ORDER BY destination, state, reason`,
  )
  const counted = yield* all<{ slot: number; accepted: number; rejected: number; repeated: number }>(
    sql`SELECT (bucket - CAST(${buckets.first} AS bigint)) / CAST(${width} AS bigint) AS slot,
          coalesce(sum(count) FILTER (WHERE reason = ''), 0) AS accepted,
          coalesce(sum(count) FILTER (WHERE reason <> ''), 0) AS rejected,
          coalesce(sum(count) FILTER (WHERE reason = 'duplicate'), 0) AS repeated
        FROM tally WHERE ${inTime} GROUP BY slot`,
  )
  const bySlot = new Map(counted.map(({ slot, ...counts }) => [slot, counts]))
  const slots = Math.min(MAX_BUCKETS, Math.max(1, Math.ceil((buckets.end - buckets.first) / width)))
  return {
    from: isoTime(buckets.first * BUCKET_MS),
    to: isoTime(buckets.end * BUCKET_MS),
    bucketMs: widthMs,
    requests: requests ?? { total: 0, refused: 0 },
    ...funnelOf(buckets, events, deliveries),
    series: Array.from({ length: slots }, (_, slot) => ({
      at: isoTime((buckets.first + slot * width) * BUCKET_MS),
      ...(bySlot.get(slot) ?? { accepted: 0, rejected: 0, repeated: 0 }),
    })),
    isComplete: true,
  }
}

/** The time between two points in `series`. */
function slotWidthMs({ first, end }: Buckets): number {
  const lengthMs = (end - first) * BUCKET_MS
  const fitting = WIDTHS_S.find((seconds) => lengthMs / (seconds * 1000) <= MAX_BUCKETS)
  return fitting === undefined ? Math.ceil(lengthMs / MAX_BUCKETS / 86_400_000) * 86_400_000 : fitting * 1000
}

function isoTime(timeMs: number): string {
  return new Date(Math.max(-8.64e15, Math.min(8.64e15, timeMs))).toISOString()
}

function funnelOf(
  { first, end }: Buckets,
  events: readonly EventCount[],
  deliveries: readonly DeliveryCount[],
): { steps: Step[]; losses: Loss[] } {
  const seconds = Math.max(1, ((end - first) * BUCKET_MS) / 1000)
  const losses: Loss[] = []
  let received = 0
  let accepted = 0
  for (const { reason, count } of events) {
    received += count
    if (reason === '') accepted += count
    else if (count > 0) {
      const { severity } = helpFor(reason)
      losses.push({ step: 'accepted', reason, count, severity, q: term('reason', reason) })
    }
  }
  const states = { pending: 0, delivered: 0, skipped: 0, failed: 0 }
  for (const { destination, state, reason, count } of deliveries) {
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
