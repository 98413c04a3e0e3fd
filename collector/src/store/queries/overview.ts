import { helpFor, type Severity } from '../../help.ts'
import type { Reason } from '../../record.ts'
import { term } from '../../search/syntax.ts'
import { sql, type TimeRange, within } from '../sql.ts'
import type { QueryContext } from './context.ts'

const HOUR_MS = 3_600_000
const MAX_SLOTS = 120
const WIDTHS_S = [10, 30, 60, 300, 600, 1800, 3600, 10_800, 21_600, 43_200, 86_400]
const MAX_LOSSES = 200

/** Each has the number that passed it, and the number that did not. */
const UNITS = {
  received: 'events',
  accepted: 'events',
  filtered: 'deliveries',
  delivered: 'deliveries',
} as const
type StepName = keyof typeof UNITS

interface Loss {
  step: StepName
  destination?: string
  reason: string
  count: number
  severity: Severity
  q: string
}

interface DeliveryCount {
  destination: string
  state: 'pending' | 'delivered' | 'skipped' | 'failed'
  reason: string | null
  count: number
}

/** The default range is the last hour. */
export function overview({ database, nowMs }: QueryContext, given: TimeRange) {
  const toMs = given.toMs ?? nowMs + 1
  const fromMs = given.fromMs ?? toMs - HOUR_MS
  const received = within('received_at', { fromMs, toMs })
  const requests = database.get<{ total: number; refused: number }>(
    sql`SELECT count(*) AS total, count(*) FILTER (WHERE status >= 400) AS refused FROM request
        WHERE ${within('at', { fromMs, toMs })}`,
  )
  const events = database.all<{ reason: Reason | null; count: number }>(
    sql`SELECT reason, count(*) AS count FROM event WHERE ${received} GROUP BY reason`,
  )
  const deliveries = database.all<DeliveryCount>(
    sql`SELECT destination, state, reason, count(*) AS count FROM delivery WHERE ${received} GROUP BY destination, state, reason`,
  )
  const bucketMs = slotWidthMs(toMs - fromMs)
  const slots = database.all<{ slot: number; accepted: number; repeated: number; rejected: number }>(
    sql`SELECT CAST((received_at - ${fromMs}) / ${bucketMs} AS INTEGER) AS slot, count(*) FILTER (WHERE reason IS NULL) AS accepted,
          count(*) FILTER (WHERE reason = 'duplicate') AS repeated, count(*) FILTER (WHERE reason <> 'duplicate') AS rejected
        FROM event WHERE ${received} GROUP BY slot`,
  )
  const bySlot = new Map(slots.map(({ slot, ...counts }) => [slot, counts]))
  const length = Math.min(MAX_SLOTS, Math.max(1, Math.ceil((toMs - fromMs) / bucketMs)))
  return {
    from: isoTime(fromMs),
    to: isoTime(toMs),
    bucketMs,
    requests: requests ?? { total: 0, refused: 0 },
    ...funnelOf((toMs - fromMs) / 1000, events, deliveries),
    series: Array.from({ length }, (_, slot) => ({
      at: isoTime(fromMs + slot * bucketMs),
      ...(bySlot.get(slot) ?? { accepted: 0, rejected: 0, repeated: 0 }),
    })),
  }
}

/** The time between two points in `series`. */
function slotWidthMs(lengthMs: number): number {
  const fitting = WIDTHS_S.find((seconds) => lengthMs / (seconds * 1000) <= MAX_SLOTS)
  return fitting === undefined ? Math.ceil(lengthMs / MAX_SLOTS / 86_400_000) * 86_400_000 : fitting * 1000
}

function isoTime(timeMs: number): string {
  return new Date(Math.max(-8.64e15, Math.min(8.64e15, timeMs))).toISOString()
}

function funnelOf(
  lengthSeconds: number,
  events: ReadonlyArray<{ reason: Reason | null; count: number }>,
  deliveries: readonly DeliveryCount[],
) {
  const losses: Loss[] = []
  const counts = { received: 0, accepted: 0, repeated: 0 }
  for (const { reason, count } of events) {
    counts.received += count
    if (reason === null) counts.accepted += count
    else if (reason === 'duplicate') counts.repeated += count
    if (reason === null) continue
    const { severity } = helpFor(reason)
    losses.push({ step: 'accepted', reason, count, severity, q: term('reason', reason) })
  }
  const states = { pending: 0, delivered: 0, skipped: 0, failed: 0 }
  for (const { destination, state, reason, count } of deliveries) {
    states[state] += count
    if (state !== 'skipped' && state !== 'failed') continue
    losses.push({
      step: state === 'skipped' ? 'filtered' : 'delivered',
      destination,
      reason: reason ?? '',
      count,
      severity: state === 'skipped' ? 'info' : 'error',
      q: `${term('destination', destination)} delivery:${state}`,
    })
  }
  const { pending, delivered, skipped, failed } = states
  const perSecond = (count: number) => Math.round((count / Math.max(1, lengthSeconds)) * 1000) / 1000
  const step = (
    name: StepName,
    count: number,
    lost: number,
    more: { repeated?: number; pending?: number } = {},
  ) => ({ name, unit: UNITS[name], count, perSecond: perSecond(count), lost, ...more })
  const { received, accepted, repeated } = counts
  return {
    steps: [
      step('received', received, 0),
      // A repeat is no loss: its event was accepted before.
      step('accepted', accepted, received - accepted - repeated, { repeated }),
      step('filtered', pending + delivered + failed, skipped),
      step('delivered', delivered, failed, { pending }),
    ],
    losses: losses.sort((a, b) => b.count - a.count).slice(0, MAX_LOSSES),
  }
}
