import { BUCKET_MS } from '../../buckets.ts'
import type { TimeRange } from '../../queries.ts'
import type { Overview } from '../../query-results.ts'
import { type OverviewCounts, overviewBuckets, overviewOf, slotWidthMs } from '../../results/overview.ts'
import type { QueryContext } from './context.ts'

export async function overview({ sql, nowMs }: QueryContext, range: TimeRange): Promise<Overview> {
  const buckets = overviewBuckets(range, nowMs)
  const { first, end } = buckets
  const [requests] = await sql.query<Overview['requests']>(
    `SELECT coalesce(sum(count), 0) AS total, coalesce(sum(count) FILTER (WHERE status >= 400), 0) AS refused
     FROM request_tally WHERE bucket >= $1 AND bucket < $2`,
    [first, end],
  )
  return overviewOf(buckets, {
    reasons: await sql.query<OverviewCounts['reasons'][number]>(
      `SELECT reason, sum(count) AS count FROM tally WHERE bucket >= $1 AND bucket < $2
       GROUP BY reason ORDER BY reason`,
      [first, end],
    ),
    deliveries: await sql.query<OverviewCounts['deliveries'][number]>(
      `SELECT destination, state, reason, sum(count) AS count FROM delivery_tally
       WHERE bucket >= $1 AND bucket < $2 GROUP BY destination, state, reason ORDER BY destination, state, reason`,
      [first, end],
    ),
    slots: await sql.query<OverviewCounts['slots'][number]>(
      `SELECT (bucket - $1::bigint) / $2::bigint AS slot, coalesce(sum(count) FILTER (WHERE reason = ''), 0) AS accepted,
         coalesce(sum(count) FILTER (WHERE reason <> ''), 0) AS rejected
       FROM tally WHERE bucket >= $1 AND bucket < $3 GROUP BY slot`,
      [first, slotWidthMs(buckets) / BUCKET_MS, end],
    ),
    requests: requests ?? { total: 0, refused: 0 },
  })
}
