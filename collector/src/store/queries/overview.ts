import { BUCKET_MS } from '../buckets.ts'
import type { TimeRange } from '../queries.ts'
import type { Overview } from '../query-results.ts'
import { type OverviewCounts, overviewBuckets, overviewOf, slotWidthMs } from '../results/overview.ts'
import { all, first, type Query, sql } from '../sql.ts'
import type { QueryContext } from './context.ts'

export function* overview({ nowMs }: QueryContext, range: TimeRange): Query<Overview> {
  const buckets = overviewBuckets(range, nowMs)
  const inTime = sql`bucket >= ${buckets.first} AND bucket < ${buckets.end}`
  const width = slotWidthMs(buckets) / BUCKET_MS
  const requests = yield* first<Overview['requests']>(
    sql`SELECT coalesce(sum(count), 0) AS total, coalesce(sum(count) FILTER (WHERE status >= 400), 0) AS refused
        FROM request_tally WHERE ${inTime}`,
  )
  return overviewOf(buckets, {
    reasons: yield* all<OverviewCounts['reasons'][number]>(
      sql`SELECT reason, sum(count) AS count FROM tally WHERE ${inTime} GROUP BY reason ORDER BY reason`,
    ),
    deliveries: yield* all<OverviewCounts['deliveries'][number]>(
      sql`SELECT destination, state, reason, sum(count) AS count FROM delivery_tally WHERE ${inTime}
          GROUP BY destination, state, reason ORDER BY destination, state, reason`,
    ),
    slots: yield* all<OverviewCounts['slots'][number]>(
      sql`SELECT (bucket - CAST(${buckets.first} AS bigint)) / CAST(${width} AS bigint) AS slot,
            coalesce(sum(count) FILTER (WHERE reason = ''), 0) AS accepted,
            coalesce(sum(count) FILTER (WHERE reason <> ''), 0) AS rejected
          FROM tally WHERE ${inTime} GROUP BY slot`,
    ),
    requests: requests ?? { total: 0, refused: 0 },
  })
}
