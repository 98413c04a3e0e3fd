import { isPlace, MAX_UNCLEAR } from '../../search/meanings.ts'
import type { Budget } from '../budget.ts'
import type {
  Bounds,
  Dialect,
  EventCondition,
  PathValue,
  ReasonExample,
  SequencedTable,
  SliceKind,
} from '../dialect.ts'
import type { TimeRange } from '../event-reader.ts'
import { isInherited } from '../inherited.ts'
import { begins } from '../search/condition.ts'
import { type SliceSizes, slicesOf } from '../slices.ts'
import { all, first, type Query, raw, type Sql, sql } from '../sql.ts'
import { type Database, readMeta } from './database.ts'
import { SEGMENT_BITS, SEGMENT_SIZE, segmentOf } from './schema.ts'

/** A slice of rows lies within one segment (see `SEGMENT_BITS`), because the indexes begin with the segment. */
const SIZES: Readonly<Record<SliceKind, SliceSizes>> = {
  rows: { first: 1024, most: SEGMENT_SIZE, border: SEGMENT_SIZE },
  index: { first: 16 * SEGMENT_SIZE, most: 16 * SEGMENT_SIZE, border: 16 * SEGMENT_SIZE },
  few: { first: Number.MAX_SAFE_INTEGER, most: Number.MAX_SAFE_INTEGER, border: Number.MAX_SAFE_INTEGER },
}

/** Must be the same expression as in the indexes, because SQLite compares the expressions. */
const SEGMENT = raw(`seq >> ${SEGMENT_BITS}`)

const NEWEST_SEQ = `SELECT max(
  coalesce((SELECT max(seq) FROM event), 0), coalesce((SELECT max(value) FROM meta WHERE key IN ('floor', 'newest')), 0)
) AS value`

/** Includes events that have been deleted. */
export function newestSeq(database: Database): number {
  return database.value<number>(NEWEST_SEQ) ?? 0
}

/**
 * Must be called before the newest event may be deleted. The next event must not get its number: waits and readers that ask for
 * newer events would miss that event, and a link to the deleted event would show it.
 */
export function keepNewest(database: Database): void {
  database.run(
    "INSERT INTO meta (key, value) VALUES ('newest', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    newestSeq(database),
  )
}

export function dialectOf(database: Database): Dialect {
  const floor = readMeta<number>(database, 'floor')
  const oldest = database.value<number>('SELECT min(seq) AS value FROM event') ?? 1
  const whole = { first: Math.max(floor + 1, oldest), last: newestSeq(database) }
  return { ...SQLITE, ...whole, boundsOf: (range) => boundsOf(whole, range) }
}

const NOTHING = raw('')

/** One event whose text is no JSON must not break the searches for others. SQLite parses the text once for all its uses. */
const VALID_BODY = raw('CASE WHEN json_valid(body) THEN body END')

const SQLITE: Omit<Dialect, 'first' | 'last' | 'boundsOf'> = {
  slices: (bounds, order, kind, comparisons = 1) => slicesOf(bounds, order, SIZES[kind], comparisons),
  within: (bounds, table = 'event') => sql`${raw(table)}.seq BETWEEN ${bounds.first} AND ${bounds.last}`,
  hasDelivery: (condition, { first, last }) =>
    sql`event.seq IN (SELECT seq FROM delivery WHERE seq BETWEEN ${first} AND ${last} AND ${condition})`,
  among,
  matching,
  equals: (column, value) => sql`${raw(column)} = ${value}`,
  lookup(column, condition, { first, last }, beside) {
    const by = raw(`INDEXED BY event_${column}`)
    const [from, to] = [segmentOf(first), segmentOf(last)]
    // Within one segment, no join with the segments is needed, and the rows come in the order of the index.
    if (beside === undefined && from === to)
      return sql`event ${by} WHERE ${SEGMENT} = ${from} AND ${condition} AND seq BETWEEN ${first} AND ${last}`
    // Segment by segment, because the entries of one segment are on few pages, which stay in the cache for all rows of `beside`.
    return sql`(WITH RECURSIVE part(n) AS
        (SELECT ${from} UNION ALL SELECT n + 1 FROM part WHERE n < ${to}) SELECT n FROM part) AS part
      ${beside === undefined ? NOTHING : sql`CROSS JOIN ${beside}`}
      CROSS JOIN event ${by} ON ${SEGMENT} = part.n AND ${condition}
      WHERE seq BETWEEN ${first} AND ${last}`
  },
  ids: (texts) => sql`(SELECT value AS id FROM json_each(${JSON.stringify(texts)})) AS ids`,
  indexHint: (index) => raw(`INDEXED BY ${index}`),
  newestByReason,
  like: raw('LIKE'),
  at(path) {
    const message = isInherited(path[0]) ? holderOf(path) : VALID_BODY
    return jsonPaths(path).map((at) => valueAt(message, at))
  },
  given(columns) {
    const names = Object.keys(columns)
    const [first] = Object.values(columns)
    const rows = first?.values.map((_, index) => names.map((name) => columns[name]?.values[index]))
    const fields = names.map((name, index) => `value ->> ${index} AS ${name}`).join(', ')
    return sql`(SELECT ${raw(fields)} FROM json_each(${JSON.stringify(rows)})) AS given`
  },
  // SQLite allows one writer at a time, so locks on rows are not needed.
  lockEvents: NOTHING,
  lockDeliveries: NOTHING,
  skipLocked: NOTHING,
  dayColumn: NOTHING,
  dayOfGiven: NOTHING,
  deliveryTallyKey: raw('bucket, destination, state, reason'),
  now: (nowMs) => sql`${nowMs}`,
  keyValueTable: raw('meta'),
  keyColumn: raw('key'),
  tokenKeys: 'token_keys',
  notifyOutcomes: undefined,
}

export function among(seqs: readonly number[], table: SequencedTable = 'event'): Sql {
  return sql`${raw(table)}.seq IN (SELECT value FROM json_each(${JSON.stringify(seqs)}))`
}

function* boundsOf(whole: Bounds, { fromMs, toMs }: TimeRange): Query<Bounds> {
  if (fromMs === undefined && toMs === undefined) return whole
  const found = yield* first<{ first: number | null; last: number | null }>(
    sql`SELECT min(n) AS first, max(n) AS last FROM segment
        WHERE last_at >= ${fromMs ?? Number.MIN_SAFE_INTEGER} AND first_at < ${toMs ?? Number.MAX_SAFE_INTEGER}`,
  )
  if (found === undefined || found.first === null || found.last === null) return { first: 1, last: 0 }
  return {
    first: Math.max(whole.first, found.first * SEGMENT_SIZE),
    last: Math.min(whole.last, (found.last + 1) * SEGMENT_SIZE - 1),
  }
}

function matching(condition: EventCondition, slice: Bounds): Sql {
  const { index, needsOnlyFacts } = condition
  const within = sql`seq BETWEEN ${slice.first} AND ${slice.last}`
  if (index === undefined)
    return sql`event ${raw(needsOnlyFacts ? 'INDEXED BY event_facts' : '')} WHERE ${within} AND ${condition.on(slice)}`
  const segment = index.isSegmented ? sql`${SEGMENT} = ${segmentOf(slice.first)} AND` : NOTHING
  // Finds the events in a subquery that uses only the indexes. Otherwise SQLite would not use the indexes of two columns.
  const found = index.columns.map(
    (column) =>
      sql`SELECT seq FROM event INDEXED BY event_${raw(column)} WHERE ${segment} event.${raw(column)} = ${index.value} AND ${within}`,
  )
  const either = found.reduce((before, one) => sql`${before} UNION ${one}`)
  return sql`event WHERE seq IN (${either}) AND ${condition.on(slice)}`
}

function* newestByReason(
  reasons: readonly string[],
  bounds: Bounds,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  budget: Budget,
): Query<ReasonExample[]> {
  const missing = new Set(reasons)
  const found: ReasonExample[] = []
  for (const { first, last } of slicesOf(bounds, 'newest', SIZES.index, 1)) {
    if (missing.size === 0 || budget.isUsedUp) break
    const rows = yield* all<ReasonExample>(
      sql`SELECT reason, max(seq) AS seq, received_at AS at FROM event INDEXED BY event_facts
          WHERE seq BETWEEN ${first} AND ${last} AND reason IS NOT NULL
            AND received_at >= ${fromMs} AND received_at < ${toMs} GROUP BY reason`,
    )
    for (const row of rows) if (missing.delete(row.reason)) found.push(row)
  }
  return found
}

/**
 * Selects the JSON text for a path whose first key is an inherited field. The body of the event is selected if the body has the
 * first two keys of the path, because inherited fields are merged one level deep.
 */
function holderOf(path: readonly string[]): Sql {
  const labels = path.slice(0, 2).map((key) => `.${label(key)}`)
  return sql`CASE WHEN NOT json_valid(body) THEN NULL WHEN event.inherited IS NULL OR json_type(body, ${`$${labels.join('')}`}) IS NOT NULL THEN body
      ELSE (SELECT handed.body FROM inherited AS handed WHERE handed.seq = event.inherited) END`
}

function valueAt(message: Sql, path: string): PathValue {
  const type = sql`json_type(${message}, ${path})`
  const value = sql`json_extract(${message}, ${path})`
  return {
    exists: sql`${type} IS NOT NULL`,
    text: (operator, text) => sql`(${type} = 'text' AND ${value} ${raw(operator)} ${text})`,
    begins: (text) => sql`(${type} = 'text' AND ${begins(value, text)})`,
    number: (operator, number) =>
      operator === '=' && isLong(number)
        ? sql`(${type} IN ('integer', 'real') AND ${message} -> ${path} = ${number})`
        : sql`(${type} IN ('integer', 'real') AND ${value} ${raw(operator)} CAST(${number} AS NUMERIC))`,
    is: (literal) => sql`${type} = ${literal}`,
  }
}

/** Whether SQLite, which calculates with doubles, could take the number for another one. */
function isLong(number: string): boolean {
  return number.length > 15 || Math.abs(Number(number)) > Number.MAX_SAFE_INTEGER
}

/** The possible meanings of a path, in the path syntax of SQLite. */
function jsonPaths(keys: readonly string[]): string[] {
  let paths = ['$']
  let unclear = 0
  for (const key of keys) {
    const mayBePlace = isPlace(key)
    if (mayBePlace) unclear++
    const steps = mayBePlace ? [`[${key}]`] : []
    if (!mayBePlace || unclear <= MAX_UNCLEAR) steps.push(`.${label(key)}`)
    paths = paths.flatMap((path) => steps.map((step) => path + step))
  }
  return paths
}

/** A key in the path syntax of SQLite: with JSON escapes, but `\u0022` instead of `\"`, where SQLite would end the key. */
function label(key: string): string {
  return `"${JSON.stringify(key).slice(1, -1).replaceAll('\\"', '\\u0022')}"`
}
