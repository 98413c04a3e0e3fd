import { isNamed, keyOf, readKey, Samples, Shape } from '../../catalogue/samples.ts'
import { commonPaths } from '../../catalogue/schema.ts'
import type { TrackingPlan } from '../../plan/plan.ts'
import { equals } from '../../search/filter.ts'
import { type Comparison, type Search, term } from '../../search/syntax.ts'
import { BUCKET_MS, bucketsOf, endOfBucket } from '../buckets.ts'
import type { Budget } from '../budget.ts'
import type { TimeRange } from '../event-reader.ts'
import type { Catalogue, CatalogueDetail, CatalogueEntry, InferredSchemas } from '../query-results.ts'
import { all, type Query, sql } from '../sql.ts'
import { storedMessage } from '../stored-message.ts'
import { closed, type QueryContext } from './context.ts'
import { findEvents } from './find.ts'
import { recordsOf } from './records.ts'

const SPARKS = 24
const MAX_SOURCES = 20
const MAX_ENTRIES = 1000
/** The entries are inferred from this many newest events, and from `RARE_SAMPLES` for each that is rare among these. */
const LIST_SAMPLES = 2000
const RARE_SAMPLES = 50
/** The properties of one catalogue entry are inferred from this many of its newest events. */
const ENTRY_SAMPLES = 1000
/** Time limit of the search for these events. */
const SAMPLES_MS = 100
/** Time limit of the searches for the events of rare entries. */
const RARE_MS = 400
/** Time limit of the searches for events that lack what all samples have. */
const EXCEPTIONS_MS = 400
/** How many such events are read at a time. */
const EXCEPTIONS = 50
const MAX_COMMON_PATHS = 100

const SAMPLES_PER_PIECE = 200

export function* catalogue(context: QueryContext, range: TimeRange): Query<Catalogue> {
  const entries = yield* countedEntries(context, range)
  const samples = yield* inferAll(context, range, entries)
  const { plan } = context
  const seen = new Set(entries.map(({ key }) => key))
  return {
    entries: entries.slice(0, MAX_ENTRIES).map((entry) => {
      const shape = samples.shape(entry.key)
      return shape === undefined ? entry : { ...entry, ...shape.counts, sampled: shape.sampled }
    }),
    plan: plan && {
      title: plan.title,
      events: plan.keys.length,
      unseen: plan.keys.filter((key) => !seen.has(key)),
    },
    sampled: samples.count,
    isComplete: entries.length <= MAX_ENTRIES,
  }
}

function* countedEntries(
  { plan }: QueryContext,
  range: TimeRange,
  only?: { type: string; name: string },
): Query<CatalogueEntry[]> {
  const buckets = bucketsOf(range)
  const which = only === undefined ? sql`` : sql`AND kind = ${only.type} AND tally.name = ${only.name}`
  const where = sql`bucket >= ${buckets.first} AND bucket < ${buckets.end}
    AND kind IN ('track', 'page', 'screen', 'identify', 'group', 'alias') ${which} AND count > 0`
  const rows = yield* all<EntryCount>(
    sql`SELECT kind, name, sum(count) AS count, coalesce(sum(count) FILTER (WHERE reason = ''), 0) AS accepted,
          coalesce(sum(count) FILTER (WHERE reason = 'duplicate'), 0) AS repeated,
          min(bucket) AS first, max(bucket) AS last
        FROM tally WHERE ${where} GROUP BY kind, name ORDER BY 3 DESC, kind, name LIMIT ${MAX_ENTRIES + 1}`,
  )
  if (rows.length === 0) return []
  const byKey = new Map(rows.map((row) => [keyOf(row.kind, row.name), newEntry(row, plan)]))
  const sources = yield* all<{ kind: string; name: string; source: string; count: number }>(
    sql`SELECT kind, tally.name AS name, source.name AS source, sum(count) AS count FROM tally
        JOIN source ON source.id = source_id WHERE ${where}
        GROUP BY kind, tally.name, source_id, source.name ORDER BY 4 DESC, kind, tally.name, source.name`,
  )
  for (const { kind, name, source, count } of sources) {
    const entry = byKey.get(keyOf(kind, name))
    if (entry !== undefined && entry.sources.length < MAX_SOURCES) entry.sources.push({ name: source, count })
  }
  // The sparklines of all entries share one time axis, which begins with the earliest event.
  const start = Math.max(buckets.first, Math.min(...rows.map(({ first }) => first)))
  const end = Math.min(buckets.end, Math.max(...rows.map(({ last }) => last + 1)))
  const width = Math.max(1, Math.ceil((end - start) / SPARKS))
  const sparks = yield* all<{ kind: string; name: string; slot: number; count: number }>(
    sql`SELECT kind, name, (bucket - CAST(${start} AS bigint)) / CAST(${width} AS bigint) AS slot, sum(count) AS count
        FROM tally WHERE ${where} GROUP BY kind, name, slot`,
  )
  for (const { kind, name, slot, count } of sparks) {
    const entry = byKey.get(keyOf(kind, name))
    if (entry !== undefined && slot >= 0 && slot < SPARKS) entry.sparkline[slot] = count
  }
  return [...byKey.values()]
}

/** Infers the entries from the newest events of all, and those that are rare among these from their own newest events. */
function* inferAll(
  context: QueryContext,
  range: TimeRange,
  entries: readonly CatalogueEntry[],
): Query<Samples> {
  const samples = new Samples()
  yield* addNewest(context, range, samples)
  const budget = context.budget.part(RARE_MS)
  for (const { key, type, accepted } of entries) {
    if ((samples.shape(key)?.sampled ?? 0) >= Math.min(accepted, RARE_SAMPLES)) continue
    const search = samplesOf(readKey(key))
    const found = yield* findEvents(
      context,
      { ...range, search, order: 'newest', limit: RARE_SAMPLES },
      budget,
    )
    const records = yield* recordsOf(
      { ...context, isExact: true },
      found.rows.map(({ seq }) => seq),
    )
    for (const { id, name, message, violations } of records)
      if (message !== null) samples.add(type, name, message, id, violations > 0)
    if (budget.isUsedUp) break
  }
  return samples
}

function* addNewest(context: QueryContext, range: TimeRange, samples: Samples): Query<void> {
  const { dialect } = context
  const budget = context.budget.part(SAMPLES_MS)
  const { fromMs, toMs } = closed(range)
  for (const slice of dialect.slices(yield* dialect.boundsOf(range), 'newest', 'rows')) {
    const rows = yield* all<{
      seq: number
      kind: string
      name: string | null
      body: string
      violations: string | null
    }>(
      sql`SELECT seq, kind, name, body, violations FROM event WHERE ${dialect.within(slice)} AND reason IS NULL
            AND received_at >= ${fromMs} AND received_at < ${toMs} ORDER BY seq DESC LIMIT ${LIST_SAMPLES - samples.count}`,
    )
    for (const [index, { seq, kind, name, body, violations }] of rows.entries()) {
      const message = storedMessage(body)
      if (message !== null) samples.add(kind, name, message, String(seq), violations !== null)
      if (index % SAMPLES_PER_PIECE === SAMPLES_PER_PIECE - 1) yield
    }
    if (samples.count >= LIST_SAMPLES || budget.isUsedUp) break
  }
}

export function* catalogueDetail(
  context: QueryContext,
  query: TimeRange & { key: string; isFull: boolean },
): Query<CatalogueDetail | null> {
  const kind = readKey(query.key)
  const [entry] = yield* countedEntries(context, query, kind)
  if (entry === undefined) return null
  const found = yield* findEvents(
    context,
    { ...query, search: samplesOf(kind), order: 'newest', limit: ENTRY_SAMPLES },
    context.budget.part(SAMPLES_MS),
  )
  const records = yield* recordsOf(
    { ...context, isExact: true },
    found.rows.map(({ seq }) => seq),
  )
  const shape = new Shape()
  for (const { id, message, violations } of records)
    if (message !== null) shape.add(entry.type, message, id, violations > 0)
  if (query.isFull) yield* addExceptions(context, query, entry, shape, context.budget.part(EXCEPTIONS_MS))
  const { counts, sampled, fields, schema } = shape
  return {
    ...entry,
    ...(sampled > 0 && counts),
    sampled,
    fields,
    example: records[0] ?? null,
    schema: query.isFull ? schema : null,
  }
}

export function* schemas(context: QueryContext, range: TimeRange): Query<InferredSchemas> {
  const entries = yield* countedEntries(context, range)
  const samples = yield* inferAll(context, range, entries)
  const budget = context.budget.part(EXCEPTIONS_MS)
  for (const entry of entries) {
    const shape = samples.shape(entry.key)
    if (shape !== undefined) yield* addExceptions(context, range, entry, shape, budget)
  }
  const notSampled = entries.filter(({ key, accepted }) => accepted > 0 && samples.shape(key) === undefined)
  return {
    schemas: samples.schemas(),
    notSampled: notSampled.map(({ key }) => key),
    isComplete: entries.length <= MAX_ENTRIES,
  }
}

/** Adds events that lack a property which all samples have, so that the rest of these properties is known to be everywhere. */
function* addExceptions(
  context: QueryContext,
  range: TimeRange,
  { key, accepted }: CatalogueEntry,
  shape: Shape,
  budget: Budget,
): Query<void> {
  if (shape.sampled >= accepted) {
    shape.known = 'everywhere'
    return
  }
  const kind = readKey(key)
  for (let before: number | undefined; !budget.isUsedUp; ) {
    const paths = commonPaths(shape.fields)
    if (paths.length > MAX_COMMON_PATHS) return
    const lacks: Search = { kind: 'or', parts: paths.map(isMissing) }
    const search: Search = { kind: 'and', parts: [...samplesOf(kind).parts, lacks] }
    const query = { ...range, search, before, order: 'newest', limit: EXCEPTIONS } as const
    const { rows, isComplete, searchedTo } = yield* findEvents(context, query, budget)
    const records = yield* recordsOf(
      { ...context, isExact: true },
      rows.map(({ seq }) => seq),
    )
    for (const { id, message, violations } of records)
      if (message !== null) shape.add(kind.type, message, id, violations > 0)
    if (rows.length < EXCEPTIONS) {
      if (isComplete) shape.known = 'outside arrays'
      return
    }
    before = searchedTo
  }
}

function isMissing(path: string[]): Search {
  const there: Comparison = {
    kind: 'compare',
    field: 'path',
    path,
    operator: '=',
    values: [{ is: 'anything' }],
  }
  return { kind: 'not', part: there }
}

function samplesOf({ type, name }: { type: string; name: string }): Extract<Search, { kind: 'and' }> {
  const parts = [equals('type', type), equals('status', 'accepted')]
  return { kind: 'and', parts: isNamed(type) ? [...parts, equals('name', name)] : parts }
}

/** `first` and `last` are numbers of buckets (see `Buckets`). */
interface EntryCount {
  kind: string
  name: string
  count: number
  accepted: number
  repeated: number
  first: number
  last: number
}

function newEntry(row: EntryCount, plan: TrackingPlan | null): CatalogueEntry {
  const { kind, name, count, accepted, repeated, first, last } = row
  const key = keyOf(kind, name)
  return {
    key,
    type: kind,
    name,
    count,
    accepted,
    rejected: count - accepted,
    repeated,
    firstSeen: new Date(first * BUCKET_MS).toISOString(),
    lastSeen: endOfBucket(last),
    sources: [],
    sparkline: Array(SPARKS).fill(0),
    sampled: 0,
    properties: null,
    inconsistent: null,
    violations: null,
    isPlanned: plan === null ? null : plan.has(key),
    q:
      kind === 'track' ? term('event', name) : `type:${kind}${isNamed(kind) ? ` ${term('name', name)}` : ''}`,
  }
}
