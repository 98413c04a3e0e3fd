import { Inference } from '../../catalogue/infer.ts'
import { schemaOf } from '../../catalogue/schema.ts'
import type { TrackingPlan } from '../../plan/plan.ts'
import type { EventRecord, Message } from '../../record.ts'
import { equals } from '../../search/filter.ts'
import { type Search, term } from '../../search/syntax.ts'
import { BUCKET_MS, type Buckets, bucketsOf, endOfBucket } from '../buckets.ts'
import { Budget } from '../budget.ts'
import type { EventSchema, TimeRange } from '../queries.ts'
import type { Catalogue, CatalogueDetail, CatalogueEntry } from '../query-results.ts'
import { all, type Query, sql } from '../sql.ts'
import { closed, type QueryContext } from './context.ts'
import { findEvents } from './find.ts'
import { recordsOf } from './records.ts'

const NAMED: ReadonlySet<string> = new Set(['track', 'page', 'screen'])
const SPARKS = 24
const MAX_SOURCES = 20
const MAX_ENTRIES = 1000
/** Newest events from which the whole catalogue and one entry are inferred. */
const LIST_SAMPLES = 2000
const ENTRY_SAMPLES = 1000
/** Milliseconds for which samples are searched. */
const SAMPLES_MS = 100

const SAMPLES_PER_PIECE = 200

export function* catalogue(context: QueryContext, range: TimeRange): Query<Catalogue> {
  const entries = yield* countedEntries(context, range)
  const samples = yield* learnAll(context, range)
  return samples.catalogue(entries, context.plan)
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
          min(bucket) AS first, max(bucket) AS last
        FROM tally WHERE ${where} GROUP BY kind, name ORDER BY 3 DESC, kind, name LIMIT ${MAX_ENTRIES}`,
  )
  const entries = new Entries(rows, buckets, plan)
  entries.addSources(
    yield* all(
      sql`SELECT kind, tally.name AS name, source.name AS source, sum(count) AS count FROM tally
          JOIN source ON source.id = source_id WHERE ${where}
          GROUP BY kind, tally.name, source_id, source.name ORDER BY 4 DESC, kind, tally.name, source.name`,
    ),
  )
  const { first, width } = entries.sparks
  entries.addSparks(
    yield* all(
      sql`SELECT kind, name, (bucket - CAST(${first} AS bigint)) / CAST(${width} AS bigint) AS slot, sum(count) AS count
          FROM tally WHERE ${where} GROUP BY kind, name, slot`,
    ),
  )
  return entries.all
}

/** Learns the shapes of all events from the newest ones. */
function* learnAll({ dialect }: QueryContext, range: TimeRange): Query<Samples> {
  const samples = new Samples()
  const budget = new Budget(SAMPLES_MS)
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
      samples.add(kind, name, JSON.parse(body) as Message, String(seq), violations !== null)
      if (index % SAMPLES_PER_PIECE === SAMPLES_PER_PIECE - 1) yield
    }
    if (samples.count >= LIST_SAMPLES || budget.isUsedUp) break
  }
  return samples
}

export function* catalogueDetail(
  context: QueryContext,
  query: TimeRange & { key: string },
): Query<CatalogueDetail | null> {
  const kind = readKey(query.key)
  const [entry] = yield* countedEntries(context, query, kind)
  if (entry === undefined) return null
  const found = yield* findEvents(
    context,
    { ...query, search: samplesOf(kind), order: 'newest', limit: ENTRY_SAMPLES },
    new Budget(SAMPLES_MS),
  )
  return detailOf(entry, yield* recordsOf(context, found.seqs))
}

/** The schemas of all events, learnt from the newest ones. */
export function* schemas(context: QueryContext, range: TimeRange): Query<EventSchema[]> {
  return (yield* learnAll(context, range)).schemas()
}

function keyOf(type: string, name: string | null): string {
  return NAMED.has(type) ? `${type}:${name ?? ''}` : type
}

/** A key as callers may write it: a name alone means a `track`. */
function readKey(key: string): { type: string; name: string } {
  const [, type, name] = /^(track|page|screen):([\s\S]*)$/.exec(key) ?? []
  if (type !== undefined) return { type, name: name ?? '' }
  return ['identify', 'group', 'alias'].includes(key) ? { type: key, name: '' } : { type: 'track', name: key }
}

/** The search that finds the events of an entry. */
function samplesOf({ type, name }: { type: string; name: string }): Search {
  const parts = [equals('type', type), equals('status', 'accepted')]
  return { kind: 'and', parts: NAMED.has(type) ? [...parts, equals('name', name)] : parts }
}

/** How often an event came; `first` and `last` are buckets. */
interface EntryCount {
  kind: string
  name: string
  count: number
  accepted: number
  first: number
  last: number
}

/** Counts of events: the entries of a catalogue before their schemas are inferred. */
class Entries {
  readonly #byKey = new Map<string, CatalogueEntry>()
  /** First bucket and width of one step of the small curve of each entry. */
  readonly sparks: { first: number; width: number }

  constructor(rows: readonly EntryCount[], { first, end }: Buckets, plan: TrackingPlan | null) {
    let start = Number.MAX_SAFE_INTEGER
    let stop = 0
    for (const row of rows) {
      start = Math.min(start, row.first)
      stop = Math.max(stop, row.last + 1)
      const entry = newEntry(row, plan)
      this.#byKey.set(entry.key, entry)
    }
    start = Math.max(first, start)
    this.sparks = { first: start, width: Math.max(1, Math.ceil((Math.min(end, stop) - start) / SPARKS)) }
  }

  addSources(rows: ReadonlyArray<{ kind: string; name: string; source: string; count: number }>): void {
    for (const { kind, name, source, count } of rows) {
      const entry = this.#byKey.get(keyOf(kind, name))
      if (entry !== undefined && entry.sources.length < MAX_SOURCES)
        entry.sources.push({ name: source, count })
    }
  }

  addSparks(rows: ReadonlyArray<{ kind: string; name: string; slot: number; count: number }>): void {
    for (const { kind, name, slot, count } of rows) {
      const entry = this.#byKey.get(keyOf(kind, name))
      if (entry !== undefined && slot >= 0 && slot < SPARKS) entry.sparkline[slot] = count
    }
  }

  get all(): CatalogueEntry[] {
    return [...this.#byKey.values()]
  }
}

function newEntry(row: EntryCount, plan: TrackingPlan | null): CatalogueEntry {
  const { kind, name, count, accepted, first, last } = row
  const key = keyOf(kind, name)
  return {
    key,
    type: kind,
    name,
    count,
    accepted,
    rejected: count - accepted,
    firstSeen: new Date(first * BUCKET_MS).toISOString(),
    lastSeen: endOfBucket(last),
    sources: [],
    sparkline: Array(SPARKS).fill(0),
    properties: 0,
    inconsistent: 0,
    violations: 0,
    isPlanned: plan === null ? null : plan.has(key),
    q:
      kind === 'track'
        ? term('event', name)
        : `type:${kind}${NAMED.has(kind) ? ` ${term('name', name)}` : ''}`,
  }
}

/** The schema of one entry, inferred from its events. */
class Learnt {
  readonly inference = new Inference()
  violations = 0

  addTo(entry: CatalogueEntry): void {
    const fields = this.inference.fields()
    entry.properties = fields.length
    entry.inconsistent = fields.filter(({ isInconsistent }) => isInconsistent).length
    entry.violations = this.violations
  }
}

/** Learns the shapes of events from samples of them. */
class Samples {
  readonly #byKey = new Map<string, Learnt>()
  #count = 0

  get count(): number {
    return this.#count
  }

  add(kind: string, name: string | null, message: Message, id: string, isViolation: boolean): void {
    this.#count++
    const key = keyOf(kind, name)
    const learnt = this.#byKey.get(key) ?? new Learnt()
    this.#byKey.set(key, learnt)
    const root = NAMED.has(kind) ? 'properties' : 'traits'
    learnt.inference.add(root, message[root], id)
    if (isViolation) learnt.violations++
  }

  schemas(): EventSchema[] {
    return [...this.#byKey]
      .map(([key, { inference }]) => ({ key, ...readKey(key), schema: schemaOf(inference.fields()) }))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  catalogue(entries: CatalogueEntry[], plan: TrackingPlan | null): Catalogue {
    for (const entry of entries) this.#byKey.get(entry.key)?.addTo(entry)
    const seen = new Set(entries.map(({ key }) => key))
    return {
      entries,
      plan:
        plan === null
          ? null
          : {
              title: plan.title,
              events: plan.keys.length,
              unseen: plan.keys.filter((key) => !seen.has(key)),
            },
      sampled: this.#count,
      isComplete: true,
    }
  }
}

/** One entry with all details inferred from its events. */
function detailOf(entry: CatalogueEntry, records: readonly EventRecord[]): CatalogueDetail {
  const learnt = new Learnt()
  const root = NAMED.has(entry.type) ? 'properties' : 'traits'
  for (const { id, message, violations } of records) {
    if (message !== null) learnt.inference.add(root, message[root], id)
    if (violations > 0) learnt.violations++
  }
  learnt.addTo(entry)
  const fields = learnt.inference.fields()
  return {
    ...entry,
    sampled: learnt.inference.samples,
    fields,
    example: records[0] ?? null,
    schema: schemaOf(fields),
  }
}
