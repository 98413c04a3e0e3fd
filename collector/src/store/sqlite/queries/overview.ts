import { BUCKET_MS, type Buckets } from '../../buckets.ts'
import type { TimeRange } from '../../queries.ts'
import type { Overview } from '../../query-results.ts'
import { type OverviewCounts, overviewBuckets, overviewOf, slotWidthMs } from '../../results/overview.ts'
import type { Work } from '../work.ts'
import type { QueryContext } from './context.ts'

export function* overview(context: QueryContext, range: TimeRange): Work<Overview> {
  const buckets = overviewBuckets(range, context.nowMs)
  const steps = stepsOf(context, buckets)
  yield
  const slots = slotsOf(context, buckets)
  yield
  return overviewOf(buckets, { ...steps, slots, requests: requestsOf(context, buckets) })
}

function stepsOf(
  { database }: QueryContext,
  { first, end }: Buckets,
): Pick<OverviewCounts, 'reasons' | 'deliveries'> {
  return {
    reasons: database.all<OverviewCounts['reasons'][number]>(
      'SELECT reason, sum(count) AS count FROM tally WHERE bucket >= ? AND bucket < ? GROUP BY reason',
      first,
      end,
    ),
    deliveries: database.all<OverviewCounts['deliveries'][number]>(
      `SELECT destination, state, reason, sum(count) AS count FROM delivery_tally
       WHERE bucket >= ? AND bucket < ? GROUP BY destination, state, reason`,
      first,
      end,
    ),
  }
}

function slotsOf({ database }: QueryContext, buckets: Buckets): OverviewCounts['slots'] {
  return database.all<OverviewCounts['slots'][number]>(
    `SELECT (bucket - CAST(?1 AS INTEGER)) / CAST(?2 AS INTEGER) AS slot, sum(CASE WHEN reason = '' THEN count ELSE 0 END) AS accepted,
       sum(CASE WHEN reason = '' THEN 0 ELSE count END) AS rejected
     FROM tally WHERE bucket >= ?1 AND bucket < ?3 GROUP BY slot`,
    buckets.first,
    slotWidthMs(buckets) / BUCKET_MS,
    buckets.end,
  )
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
