import { helpFor } from '../../help.ts'
import type { Reason } from '../../record.ts'
import { term } from '../../search/syntax.ts'
import { BUCKET_MS, type Buckets, bucketsOf } from '../buckets.ts'
import type { TimeRange } from '../queries.ts'
import type { Loss, Overview, Step } from '../query-results.ts'

const HOUR_MS = 3_600_000
const MAX_BUCKETS = 120
const WIDTHS_S = [10, 30, 60, 300, 600, 1800, 3600, 10_800, 21_600, 43_200, 86_400]
const MAX_LOSSES = 200

/** The counts that an overview is made of, of its buckets. */
export interface OverviewCounts {
  /** Events; the reason of accepted ones is ''. */
  reasons: ReadonlyArray<{ reason: Reason | ''; count: number }>
  deliveries: ReadonlyArray<{
    destination: string
    state: 'pending' | 'delivered' | 'skipped' | 'failed'
    reason: string
    count: number
  }>
  /** Events in each slot of `slotsOf`. */
  slots: ReadonlyArray<{ slot: number; accepted: number; rejected: number }>
  requests: Overview['requests']
}

/** The time that an overview is of; the last hour unless it is given. */
export function overviewBuckets(range: TimeRange, nowMs: number): Buckets {
  const toMs = range.toMs ?? nowMs + 1
  return bucketsOf({ fromMs: range.fromMs ?? toMs - HOUR_MS, toMs })
}

/** Width of one step of the series, milliseconds. */
export function slotWidthMs({ first, end }: Buckets): number {
  const lengthMs = (end - first) * BUCKET_MS
  const fitting = WIDTHS_S.find((seconds) => lengthMs / (seconds * 1000) <= MAX_BUCKETS)
  return fitting === undefined ? Math.ceil(lengthMs / MAX_BUCKETS / 86_400_000) * 86_400_000 : fitting * 1000
}

export function overviewOf(buckets: Buckets, counts: OverviewCounts): Overview {
  const widthMs = slotWidthMs(buckets)
  return {
    from: isoTime(buckets.first * BUCKET_MS),
    to: isoTime(buckets.end * BUCKET_MS),
    bucketMs: widthMs,
    requests: counts.requests,
    ...stepsOf(buckets, counts),
    series: seriesOf(buckets, widthMs / BUCKET_MS, counts.slots),
    isComplete: true,
  }
}

function isoTime(timeMs: number): string {
  return new Date(Math.max(-8.64e15, Math.min(8.64e15, timeMs))).toISOString()
}

function stepsOf({ first, end }: Buckets, counts: OverviewCounts): { steps: Step[]; losses: Loss[] } {
  const seconds = Math.max(1, ((end - first) * BUCKET_MS) / 1000)
  const losses: Loss[] = []
  let received = 0
  let accepted = 0
  for (const { reason, count } of counts.reasons) {
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
  for (const { destination, state, reason, count } of counts.deliveries) {
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
  { first, end }: Buckets,
  perSlot: number,
  counted: OverviewCounts['slots'],
): Overview['series'] {
  const bySlot = new Map(counted.map(({ slot, accepted, rejected }) => [slot, { accepted, rejected }]))
  const slots = Math.max(1, Math.ceil((end - first) / perSlot))
  return Array.from({ length: Math.min(slots, MAX_BUCKETS) }, (_, slot) => ({
    at: isoTime((first + slot * perSlot) * BUCKET_MS),
    ...(bySlot.get(slot) ?? { accepted: 0, rejected: 0 }),
  }))
}
