import type { EventRecord, Message } from '../../../record.ts'
import { bucketsOf } from '../../buckets.ts'
import { Budget } from '../../budget.ts'
import type { EventSchema, TimeRange } from '../../queries.ts'
import type { Catalogue, CatalogueDetail, CatalogueEntry } from '../../query-results.ts'
import {
  detailOf,
  ENTRY_SAMPLES,
  Entries,
  type EntryCount,
  LIST_SAMPLES,
  MAX_ENTRIES,
  readKey,
  SAMPLES_MS,
  Samples,
  samplesOf,
} from '../../results/catalogue.ts'
import { findEvents } from '../find.ts'
import { recordsOf } from '../records.ts'
import { boundsOf, slices } from '../slices.ts'
import type { Work } from '../work.ts'
import type { QueryContext } from './context.ts'

export function* catalogue(context: QueryContext, range: TimeRange): Work<Catalogue> {
  const entries = yield* countedEntries(context, range)
  const samples = yield* learnAll(context, range)
  return samples.catalogue(entries, context.plan)
}

function* countedEntries(
  { database, plan }: QueryContext,
  range: TimeRange,
  only?: { type: string; name: string },
): Work<CatalogueEntry[]> {
  const buckets = bucketsOf(range)
  const { first, end } = buckets
  const which = only === undefined ? '' : 'AND kind = ? AND tally.name = ?'
  const where = `bucket >= ? AND bucket < ? AND kind IN ('track','page','screen','identify','group','alias') ${which} AND count > 0`
  const values = [first, end, ...(only === undefined ? [] : [only.type, only.name])]
  const rows = database.all<EntryCount>(
    `SELECT kind, name, sum(count) AS count, sum(CASE WHEN reason = '' THEN count ELSE 0 END) AS accepted,
       min(bucket) AS first, max(bucket) AS last
     FROM tally WHERE ${where} GROUP BY kind, name ORDER BY 3 DESC, kind, name LIMIT ?`,
    ...values,
    MAX_ENTRIES,
  )
  yield
  const entries = new Entries(rows, buckets, plan)
  entries.addSources(
    database.all<{ kind: string; name: string; source: string; count: number }>(
      `SELECT kind, tally.name AS name, source.name AS source, sum(count) AS count FROM tally
     JOIN source ON source.id = source_id WHERE ${where} GROUP BY kind, tally.name, source_id ORDER BY 4 DESC, kind, tally.name, source.name`,
      ...values,
    ),
  )
  yield
  entries.addSparks(
    database.all<{ kind: string; name: string; slot: number; count: number }>(
      `SELECT kind, name, (bucket - CAST(? AS INTEGER)) / CAST(? AS INTEGER) AS slot, sum(count) AS count FROM tally WHERE ${where} GROUP BY kind, name, slot`,
      entries.sparks.first,
      entries.sparks.width,
      ...values,
    ),
  )
  return entries.all
}

/** Learns the shapes of all events from the newest ones. */
function* learnAll(context: QueryContext, range: TimeRange): Work<Samples> {
  const samples = new Samples()
  const budget = new Budget(SAMPLES_MS)
  for (const { first, last } of slices(boundsOf(context.database, range), 'newest', 1)) {
    const rows = context.database.all<{
      seq: number
      kind: string
      name: string | null
      body: string
      violations: string | null
    }>(
      `SELECT seq, kind, name, body, violations FROM event
       WHERE seq BETWEEN ? AND ? AND reason IS NULL AND received_at >= ? AND received_at < ? ORDER BY seq DESC LIMIT ?`,
      first,
      last,
      range.fromMs ?? Number.MIN_SAFE_INTEGER,
      range.toMs ?? Number.MAX_SAFE_INTEGER,
      LIST_SAMPLES - samples.count,
    )
    for (const [index, { seq, kind, name, body, violations }] of rows.entries()) {
      samples.add(kind, name, JSON.parse(body) as Message, String(seq), violations !== null)
      if (index % 200 === 199) yield
    }
    if (samples.count >= LIST_SAMPLES || budget.isUsedUp) break
  }
  return samples
}

export function* catalogueDetail(
  context: QueryContext,
  query: TimeRange & { key: string },
): Work<CatalogueDetail | null> {
  const kind = readKey(query.key)
  const [entry] = yield* countedEntries(context, query, kind)
  if (entry === undefined) return null
  const found = yield* findEvents(
    context.database,
    { ...query, search: samplesOf(kind), order: 'newest', limit: ENTRY_SAMPLES },
    new Budget(SAMPLES_MS),
    context.nowMs,
  )
  const records: EventRecord[] = []
  for (let start = 0; start < found.seqs.length; start += 100) {
    records.push(...recordsOf(context.database, found.seqs.slice(start, start + 100)))
    yield
  }
  return detailOf(entry, records)
}

/** The schemas of all events, learnt from the newest ones. */
export function* schemas(context: QueryContext, range: TimeRange): Work<EventSchema[]> {
  const samples = yield* learnAll(context, range)
  return samples.schemas()
}
