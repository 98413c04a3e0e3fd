import { Inference } from '../../../catalogue/infer.ts'
import { schemaOf } from '../../../catalogue/schema.ts'
import type { EventRecord, Message } from '../../../record.ts'
import { equals } from '../../../search/filter.ts'
import { type Search, term } from '../../../search/syntax.ts'
import type { EventSchema, TimeRange } from '../../queries.ts'
import type { Catalogue, CatalogueDetail, CatalogueEntry } from '../../query-results.ts'
import { findEvents } from '../find.ts'
import { recordsOf } from '../records.ts'
import { BUCKET_MS } from '../schema.ts'
import { boundsOf, slices } from '../slices.ts'
import { Budget, type Work } from '../work.ts'
import type { QueryContext } from './context.ts'
import { bucketsOf } from './overview.ts'

const NAMED: ReadonlySet<string> = new Set(['track', 'page', 'screen'])
const MAX_ENTRIES = 1000
const SPARKS = 24
/** Newest events from which the whole catalogue is inferred, and one entry. */
const LIST_SAMPLES = 2000
const ENTRY_SAMPLES = 1000
const SAMPLES_MS = 100

/** What was learnt of each entry, by its key. */
interface Learnt {
  inference: Inference
  violations: number
}

export function keyOf(type: string, name: string | null): string {
  return NAMED.has(type) ? `${type}:${name ?? ''}` : type
}

/** A key as a caller may write it: a name alone is that of a track. */
export function readKey(key: string): { type: string; name: string } {
  const [, type, name] = /^(track|page|screen):([\s\S]*)$/.exec(key) ?? []
  if (type !== undefined) return { type, name: name ?? '' }
  return ['identify', 'group', 'alias'].includes(key) ? { type: key, name: '' } : { type: 'track', name: key }
}

export function* catalogue(context: QueryContext, range: TimeRange): Work<Catalogue> {
  const entries = yield* countedEntries(context, range)
  const { learnt, sampled } = yield* learnAll(context, range)
  for (const entry of entries) addLearnt(entry, learnt.get(entry.key))
  const seen = new Set(entries.map(({ key }) => key))
  const { plan } = context
  return {
    entries,
    plan:
      plan === null
        ? null
        : { title: plan.title, events: plan.keys.length, unseen: plan.keys.filter((key) => !seen.has(key)) },
    sampled,
    isComplete: true,
  }
}

function addLearnt(entry: CatalogueEntry, learnt: Learnt | undefined): void {
  if (learnt === undefined) return
  const fields = learnt.inference.fields()
  entry.properties = fields.length
  entry.inconsistent = fields.filter(({ isInconsistent }) => isInconsistent).length
  entry.violations = learnt.violations
}

function* countedEntries(
  { database, plan }: QueryContext,
  range: TimeRange,
  only?: { type: string; name: string },
): Work<CatalogueEntry[]> {
  const { first, end } = bucketsOf(range)
  const which = only === undefined ? '' : 'AND kind = ? AND tally.name = ?'
  const where = `bucket >= ? AND bucket < ? AND kind IN ('track','page','screen','identify','group','alias') ${which} AND count > 0`
  const values = [first, end, ...(only === undefined ? [] : [only.type, only.name])]
  const rows = database.all<{
    kind: string
    name: string
    count: number
    accepted: number
    first: number
    last: number
  }>(
    `SELECT kind, name, sum(count) AS count, sum(CASE WHEN reason = '' THEN count ELSE 0 END) AS accepted,
       min(bucket) AS first, max(bucket) AS last
     FROM tally WHERE ${where} GROUP BY kind, name ORDER BY 3 DESC LIMIT ?`,
    ...values,
    MAX_ENTRIES,
  )
  yield
  const entries = new Map<string, CatalogueEntry>()
  for (const { kind, name, count, accepted, first, last } of rows) {
    const key = keyOf(kind, name)
    entries.set(key, {
      key,
      type: kind,
      name,
      count,
      accepted,
      rejected: count - accepted,
      firstSeen: new Date(first * BUCKET_MS).toISOString(),
      lastSeen: new Date((last + 1) * BUCKET_MS - 1).toISOString(),
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
    })
  }
  const sources = database.all<{ kind: string; name: string; source: string; count: number }>(
    `SELECT kind, tally.name AS name, source.name AS source, sum(count) AS count FROM tally
     JOIN source ON source.id = source_id WHERE ${where} GROUP BY kind, tally.name, source_id ORDER BY 4 DESC`,
    ...values,
  )
  for (const { kind, name, source, count } of sources) {
    const entry = entries.get(keyOf(kind, name))
    if (entry !== undefined && entry.sources.length < 20) entry.sources.push({ name: source, count })
  }
  yield
  const start = Math.max(
    first,
    rows.reduce((least, row) => Math.min(least, row.first), Number.MAX_SAFE_INTEGER),
  )
  const stop = Math.min(
    end,
    rows.reduce((most, row) => Math.max(most, row.last + 1), 0),
  )
  const width = Math.max(1, Math.ceil((stop - start) / SPARKS))
  const sparks = database.all<{ kind: string; name: string; slot: number; count: number }>(
    `SELECT kind, name, (bucket - CAST(? AS INTEGER)) / CAST(? AS INTEGER) AS slot, sum(count) AS count FROM tally WHERE ${where} GROUP BY kind, name, slot`,
    start,
    width,
    ...values,
  )
  for (const { kind, name, slot, count } of sparks) {
    const entry = entries.get(keyOf(kind, name))
    if (entry !== undefined && slot >= 0 && slot < SPARKS) entry.sparkline[slot] = count
  }
  return [...entries.values()]
}

/** Learns the shapes of all events from the newest ones. */
function* learnAll(
  context: QueryContext,
  range: TimeRange,
): Work<{ learnt: Map<string, Learnt>; sampled: number }> {
  const learnt = new Map<string, Learnt>()
  const budget = new Budget(SAMPLES_MS)
  let sampled = 0
  for (const { first, last } of slices(boundsOf(context.database, range), 'newest', 1)) {
    const rows = context.database.all<{
      seq: number
      kind: string
      name: string | null
      body: string
      violations: string | null
    }>(
      `SELECT seq, kind, name, body, violations FROM event
       WHERE seq BETWEEN ? AND ? AND reason IS NULL ORDER BY seq DESC LIMIT ?`,
      first,
      last,
      LIST_SAMPLES - sampled,
    )
    for (const [index, { seq, kind, name, body, violations }] of rows.entries()) {
      const key = keyOf(kind, name)
      const known = learnt.get(key) ?? { inference: new Inference(), violations: 0 }
      learnt.set(key, known)
      addSample(known.inference, kind, JSON.parse(body) as Message, String(seq))
      if (violations !== null) known.violations++
      if (index % 200 === 199) yield
    }
    sampled += rows.length
    if (sampled >= LIST_SAMPLES || budget.isUsedUp) break
  }
  return { learnt, sampled }
}

function addSample(inference: Inference, kind: string, message: Message, id: string): void {
  const root = NAMED.has(kind) ? 'properties' : 'traits'
  inference.add(root, message[root], id)
}

export function* catalogueDetail(
  context: QueryContext,
  query: TimeRange & { key: string },
): Work<CatalogueDetail | null> {
  const { type, name } = readKey(query.key)
  const [entry] = yield* countedEntries(context, query, { type, name })
  if (entry === undefined) return null
  const parts = [equals('type', type), equals('status', 'accepted')]
  const search: Search = { kind: 'and', parts: NAMED.has(type) ? [...parts, equals('name', name)] : parts }
  const found = yield* findEvents(
    context.database,
    { ...query, search, order: 'newest', limit: ENTRY_SAMPLES },
    new Budget(SAMPLES_MS),
    context.nowMs,
  )
  const learnt: Learnt = { inference: new Inference(), violations: 0 }
  let example: EventRecord | null = null
  for (let start = 0; start < found.seqs.length; start += 100) {
    for (const record of recordsOf(context.database, found.seqs.slice(start, start + 100))) {
      example ??= record
      if (record.message !== null) addSample(learnt.inference, type, record.message, record.id)
      if (record.violations > 0) learnt.violations++
    }
    yield
  }
  addLearnt(entry, learnt)
  const fields = learnt.inference.fields()
  return { ...entry, sampled: learnt.inference.samples, fields, example, schema: schemaOf(fields) }
}

/** The schemas of all events, learnt from the newest ones. */
export function* schemas(context: QueryContext, range: TimeRange): Work<EventSchema[]> {
  const { learnt } = yield* learnAll(context, range)
  return [...learnt]
    .map(([key, { inference }]) => ({ key, ...readKey(key), schema: schemaOf(inference.fields()) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
}
