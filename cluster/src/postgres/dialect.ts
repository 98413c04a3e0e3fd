import type { TimeRange } from 'trackpost-collector/ports'
import {
  all,
  type Bounds,
  type Dialect,
  first,
  type Query,
  raw,
  type SliceSizes,
  type Sql,
  slicesOf,
  sql,
  TEXT_COLUMNS,
} from 'trackpost-collector/sql'
import { CHANNEL } from './functions.ts'
import { at, INHERITED_COLUMN, jsonbOf, MESSAGE_COLUMN } from './jsonb-message.ts'
import { shownDay } from './partitions.ts'
import type { Span } from './span.ts'

/**
 * If a range of time has at most this many events, its bounds are read from the index on the time of receipt, and are exact.
 * Otherwise they are the bounds of whole days.
 */
const FEW_EVENTS = 20_000

const SIZES: SliceSizes = { first: 8192, most: 40_000, border: Number.MAX_SAFE_INTEGER }

// `offset 0` prevents the planner from inlining the subquery, so that the JSON is parsed once and not for each use.
const WITH_MESSAGE = `CROSS JOIN LATERAL (SELECT ${jsonbOf('body')} AS message OFFSET 0) AS parsed`
const WITH_INHERITED = `CROSS JOIN LATERAL (SELECT CASE WHEN event.inherited IS NOT NULL THEN
  (SELECT ${jsonbOf('inherited.body')} FROM inherited WHERE inherited.seq = event.inherited AND inherited.day = event.day)
  END AS message OFFSET 0) AS outer_parsed`

/** Columns whose index contains `brief(column)`, see `schema.ts`. */
const BRIEF: ReadonlySet<string> = new Set(TEXT_COLUMNS.flatMap((column) => [column, `event.${column}`]))

export function dialectOf(span: Span): Dialect {
  const within = (bounds: Bounds, table = 'event'): Sql =>
    sql`${raw(table)}.seq BETWEEN ${bounds.first} AND ${bounds.last} AND ${onDays(span, bounds, table)}`
  return {
    ...POSTGRES,
    first: span.first,
    last: span.last,
    boundsOf: (range) => boundsOf(span, range),
    slices: (bounds, order, _, comparisons = 1) => slicesOf(bounds, order, SIZES, comparisons),
    within,
    // `exists`, because a negated `in` would read all deliveries of the slice.
    hasDelivery: (condition, slice) =>
      sql`EXISTS (SELECT FROM delivery WHERE delivery.seq = event.seq AND delivery.day = event.day
            AND ${within(slice, 'delivery')} AND ${condition})`,
    among(seqs, table = 'event') {
      const bounds = { first: Math.min(...seqs), last: Math.max(...seqs) }
      return sql`${raw(table)}.seq = ANY (${seqs}::bigint[]) AND ${onDays(span, bounds, table)}`
    },
    matching(condition, slice) {
      const asked = condition.on(slice)
      const message = raw(asked.sql.includes(MESSAGE_COLUMN) ? WITH_MESSAGE : '')
      const inherited = raw(asked.sql.includes(INHERITED_COLUMN) ? WITH_INHERITED : '')
      return sql`event ${message} ${inherited} WHERE ${within(slice)} AND ${asked}`
    },
    lookup(_, condition, bounds, beside) {
      const found = sql`event WHERE ${condition} AND ${within(bounds)}`
      if (beside === undefined) return found
      // `offset 0` makes the planner look up each row in the index. Otherwise it would build a hash table of all events.
      return sql`${beside} CROSS JOIN LATERAL (SELECT * FROM ${found} OFFSET 0) AS event WHERE TRUE`
    },
  }
}

const POSTGRES = {
  equals: (column, value) =>
    BRIEF.has(column)
      ? sql`(brief(${raw(column)}) = brief(${value}) AND ${raw(column)} = ${value})`
      : sql`${raw(column)} = ${value}`,
  ids: (texts) => sql`unnest(${texts}::text[]) AS ids(id)`,
  indexHint: () => raw(''),
  newestByReason: (reasons, bounds, { fromMs, toMs }) =>
    all(
      sql`SELECT reasons.reason, newest.seq, newest.at FROM unnest(${reasons}::text[]) AS reasons(reason) CROSS JOIN LATERAL
            (SELECT seq, received_at AS at FROM event WHERE event.reason = reasons.reason
               AND seq BETWEEN ${bounds.first} AND ${bounds.last} AND received_at >= ${fromMs} AND received_at < ${toMs}
             ORDER BY seq DESC LIMIT 1) AS newest`,
    ),
  // With the collation "C" of all columns, `ilike` ignores only the case of ASCII letters.
  like: raw('ILIKE'),
  at,
  given(columns) {
    const arrays = Object.values(columns).map(({ type, values }) =>
      type === 'number' ? sql`${values}::bigint[]` : sql`${values}::text[]`,
    )
    const list = arrays.reduce((before, one) => sql`${before}, ${one}`)
    return sql`unnest(${list}) AS given (${raw(Object.keys(columns).join(', '))})`
  },
  lockEvents: raw('FOR UPDATE OF event'),
  lockDeliveries: raw('FOR UPDATE OF delivery'),
  skipLocked: raw('FOR UPDATE SKIP LOCKED'),
  dayColumn: raw('day, '),
  dayOfGiven: raw('day_of(given.seq), '),
  deliveryTallyKey: raw('bucket, destination, state, brief(reason)'),
  // The clock of the server, because the clocks of the processes may differ.
  now: () => raw('floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'),
  keyValueTable: raw('kept_value'),
  keyColumn: raw('name'),
  tokenKeys: 'token keys',
  notifyOutcomes: raw(
    `UPDATE log_revision SET revision = revision + 1 RETURNING pg_notify('${CHANNEL}', '')`,
  ),
} satisfies Partial<Dialect>

/** With this condition, a query reads only the partitions of the days within the bounds. */
function onDays(span: Span, bounds: Bounds, table: string): Sql {
  const [from, to] = span.daysOf(bounds)
  return sql`${raw(table)}.day BETWEEN ${from}::date AND ${to}::date`
}

function* boundsOf(span: Span, range: TimeRange): Query<Bounds> {
  if (range.fromMs === undefined && range.toMs === undefined) return { first: span.first, last: span.last }
  const { fromMs = Number.MIN_SAFE_INTEGER, toMs = Number.MAX_SAFE_INTEGER } = range
  const few = yield* first<{ count: number; first: number | null; last: number | null }>(
    sql`SELECT count(*) AS count, min(seq) AS first, max(seq) AS last FROM
          (SELECT seq FROM event WHERE received_at >= ${fromMs} AND received_at < ${toMs} LIMIT ${FEW_EVENTS + 1}) AS few`,
  )
  if (few === undefined || few.first === null || few.last === null) return { first: 1, last: 0 }
  if (few.count <= FEW_EVENTS)
    return { first: Math.max(span.first, few.first), last: Math.min(span.last, few.last) }
  const times = yield* all<{ day: string; first: number | null; last: number | null }>(
    sql`SELECT ${raw(shownDay('days.day'))} AS day, (SELECT min(received_at) FROM event WHERE event.day = days.day) AS first,
          (SELECT max(received_at) FROM event WHERE event.day = days.day) AS last
        FROM (SELECT DISTINCT day FROM log_day) AS days`,
  )
  const within = new Set(
    times
      .filter(({ first, last }) => first !== null && last !== null && last >= fromMs && first < toMs)
      .map(({ day }) => day),
  )
  const parts = span.days.filter(({ day }) => within.has(day))
  return {
    first: Math.min(...parts.map(({ first }) => first)),
    last: Math.max(...parts.map(({ last }) => last)),
  }
}
