import { isNamed, keyOf, readKey, Samples, Shape } from '../../catalogue/samples.ts'
import { commonPaths } from '../../catalogue/schema.ts'
import type { TrackingPlan } from '../../plan/plan.ts'
import { term } from '../../search/syntax.ts'
import type { Catalogue, CatalogueDetail, CatalogueEntry, InferredSchemas } from '../query-results.ts'
import { allOf, raw, type Sql, sql, type TimeRange, within } from '../sql.ts'
import { storedMessage } from '../stored-message.ts'
import type { QueryContext } from './context.ts'
import { recordsOf } from './events.ts'

const SPARKS = 24
const MAX_SOURCES = 20
const MAX_ENTRIES = 1000
/** The entries of the list are inferred from this many newest events, and from `RARE_SAMPLES` for each that is rare among these. */
const LIST_SAMPLES = 1000
const RARE_SAMPLES = 20
/** One entry is inferred from this many of its newest events. */
const ENTRY_SAMPLES = 500
const MAX_COMMON_PATHS = 100
/** The name under which an event is counted: for other kinds, the column has an id. */
const NAME = raw("CASE WHEN kind IN ('track', 'page', 'screen') THEN coalesce(name, '') ELSE '' END")
const KINDS = raw("kind IN ('track', 'page', 'screen', 'identify', 'group', 'alias')")

export function catalogue(context: QueryContext, range: TimeRange): Catalogue {
  const entries = countedEntries(context, range)
  const samples = sample(context, range, entries)
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

function countedEntries(
  { database, plan }: QueryContext,
  range: TimeRange,
  only?: { type: string; name: string },
): CatalogueEntry[] {
  const where = allOf([within('received_at', range), KINDS, ...(only === undefined ? [] : [isEntry(only)])])
  const groups = database.all<EntryCount & { source: string }>(
    sql`SELECT kind, ${NAME} AS name, source, count(*) AS count, count(*) FILTER (WHERE reason IS NULL) AS accepted,
          count(*) FILTER (WHERE reason = 'duplicate') AS repeated, min(received_at) AS first, max(received_at) AS last
        FROM event WHERE ${where} GROUP BY 1, 2, 3 ORDER BY 4 DESC`,
  )
  if (groups.length === 0) return []
  const byKey = new Map<string, EntryCount & { sources: CatalogueEntry['sources'] }>()
  for (const { source, ...group } of groups) {
    const key = keyOf(group.kind, group.name)
    const known = byKey.get(key)
    const sources = known?.sources ?? []
    if (sources.length < MAX_SOURCES) sources.push({ name: source, count: group.count })
    byKey.set(key, { ...(known === undefined ? group : sum(known, group)), sources })
  }
  const entries = [...byKey.values()].map((count) => newEntry(count, count.sources, plan))
  const byEntry = new Map(entries.map((entry) => [entry.key, entry]))
  const violations = database.all<{ kind: string; name: string; count: number }>(
    sql`SELECT kind, ${NAME} AS name, count(*) AS count FROM event WHERE violations IS NOT NULL AND ${where} GROUP BY 1, 2`,
  )
  for (const { kind, name, count } of violations) {
    const entry = byEntry.get(keyOf(kind, name))
    if (entry !== undefined) entry.violations = count
  }
  // The sparklines of all entries share one time axis, which begins with the earliest event.
  const start = Math.min(...groups.map(({ first }) => first))
  const end = Math.max(...groups.map(({ last }) => last)) + 1
  const width = Math.max(1, Math.ceil((end - start) / SPARKS))
  const sparks = database.all<{ kind: string; name: string; slot: number; count: number }>(
    sql`SELECT kind, ${NAME} AS name, CAST((received_at - ${start}) / ${width} AS INTEGER) AS slot, count(*) AS count
        FROM event WHERE ${where} GROUP BY 1, 2, 3`,
  )
  for (const { kind, name, slot, count } of sparks) {
    const entry = byEntry.get(keyOf(kind, name))
    if (entry !== undefined && slot >= 0 && slot < SPARKS) entry.sparkline[slot] = count
  }
  return entries.sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1))
}

function sum(one: EntryCount, other: EntryCount): EntryCount {
  return {
    kind: one.kind,
    name: one.name,
    count: one.count + other.count,
    accepted: one.accepted + other.accepted,
    repeated: one.repeated + other.repeated,
    first: Math.min(one.first, other.first),
    last: Math.max(one.last, other.last),
  }
}

function isEntry({ type, name }: { type: string; name: string }): Sql {
  const isKind = sql`kind = ${type}`
  if (!isNamed(type)) return isKind
  return name === '' ? sql`${isKind} AND (name IS NULL OR name = '')` : sql`${isKind} AND name = ${name}`
}

interface Sampled {
  seq: number
  kind: string
  name: string | null
  body: string | null
}

function newest({ database }: QueryContext, where: Sql, limit: number): Sampled[] {
  return database.all<Sampled>(
    sql`SELECT seq, kind, name, body FROM event WHERE ${where} AND reason IS NULL ORDER BY seq DESC LIMIT ${limit}`,
  )
}

/** Samples the newest events of all, and those that are rare among these from their own newest events. */
function sample(context: QueryContext, range: TimeRange, entries: readonly CatalogueEntry[]): Samples {
  const samples = new Samples()
  const add = (rows: readonly Sampled[]) => {
    for (const { seq, kind, name, body } of rows) {
      const message = storedMessage(body)
      if (message !== null) samples.add(kind, name, message, String(seq))
    }
  }
  const received = within('received_at', range)
  add(newest(context, received, LIST_SAMPLES))
  for (const { key, accepted } of entries.slice(0, MAX_ENTRIES)) {
    const wanted = Math.min(accepted, RARE_SAMPLES)
    if ((samples.shape(key)?.sampled ?? 0) >= wanted) continue
    add(newest(context, allOf([received, isEntry(readKey(key))]), wanted))
  }
  return samples
}

export function catalogueDetail(
  context: QueryContext,
  query: TimeRange & { key: string },
): CatalogueDetail | null {
  const kind = readKey(query.key)
  const [entry] = countedEntries(context, query, kind)
  if (entry === undefined) return null
  const { shape, newest: seq } = shapeOf(context, query, entry)
  const { counts, sampled, fields, schema } = shape
  return {
    ...entry,
    ...(sampled > 0 && counts),
    sampled,
    fields,
    example: seq === undefined ? null : (recordsOf(context, [seq])[0] ?? null),
    schema,
  }
}

export function schemas(context: QueryContext, range: TimeRange): InferredSchemas {
  const entries = countedEntries(context, range)
  return {
    schemas: entries.slice(0, MAX_ENTRIES).map((entry) => {
      const { key, type, name } = entry
      return { key, type, name, schema: shapeOf(context, range, entry).shape.schema }
    }),
    isComplete: entries.length <= MAX_ENTRIES,
  }
}

/** Inferred from the newest events. Which keys are required is asked of all. */
function shapeOf(
  context: QueryContext,
  range: TimeRange,
  { key, type, accepted }: CatalogueEntry,
): { shape: Shape; newest: number | undefined } {
  const where = allOf([within('received_at', range), isEntry(readKey(key))])
  const rows = newest(context, where, ENTRY_SAMPLES)
  const shape = new Shape()
  for (const { seq, body } of rows) {
    const message = storedMessage(body)
    if (message !== null) shape.add(type, message, String(seq))
  }
  if (shape.sampled >= accepted) shape.known = 'everywhere'
  else shape.known = { required: pathsInAll(context, where, commonPaths(shape.fields)) }
  return { shape, newest: rows[0]?.seq }
}

/** Those of the paths that every accepted event has. */
function pathsInAll({ database }: QueryContext, where: Sql, paths: readonly string[][]): ReadonlySet<string> {
  const asked = paths.slice(0, MAX_COMMON_PATHS)
  if (asked.length === 0) return new Set()
  const columns = asked.map((path, index) => {
    const steps = path.map((one) => `."${JSON.stringify(one).slice(1, -1).replaceAll('\\"', '\\u0022')}"`)
    return sql`min(json_type(body, ${`$${steps.join('')}`}) IS NOT NULL) AS ${raw(`p${index}`)}`
  })
  const list = columns.reduce((before, one) => sql`${before}, ${one}`)
  const row = database.get<Record<string, number>>(
    sql`SELECT ${list} FROM event WHERE ${where} AND reason IS NULL`,
  )
  return new Set(asked.filter((_, index) => row?.[`p${index}`] === 1).map((path) => JSON.stringify(path)))
}

interface EntryCount {
  kind: string
  name: string
  count: number
  accepted: number
  repeated: number
  /** Milliseconds since the epoch. */
  first: number
  last: number
}

function newEntry(
  row: EntryCount,
  sources: CatalogueEntry['sources'],
  plan: TrackingPlan | null,
): CatalogueEntry {
  const { kind, name, count, accepted, repeated, first, last } = row
  const key = keyOf(kind, name)
  return {
    key,
    type: kind,
    name,
    count,
    accepted,
    rejected: count - accepted - repeated,
    repeated,
    firstSeen: new Date(first).toISOString(),
    lastSeen: new Date(last).toISOString(),
    sources,
    sparkline: Array(SPARKS).fill(0),
    sampled: 0,
    properties: null,
    inconsistent: null,
    violations: 0,
    isPlanned: plan === null ? null : plan.has(key),
    q:
      kind === 'track' ? term('event', name) : `type:${kind}${isNamed(kind) ? ` ${term('name', name)}` : ''}`,
  }
}
