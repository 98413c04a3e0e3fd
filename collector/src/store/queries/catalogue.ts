import type { Message } from '../../record.ts'
import { bucketsOf } from '../buckets.ts'
import { Budget } from '../budget.ts'
import type { EventSchema, TimeRange } from '../queries.ts'
import type { Catalogue, CatalogueDetail, CatalogueEntry } from '../query-results.ts'
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
} from '../results/catalogue.ts'
import { all, type Query, sql } from '../sql.ts'
import { closed, type QueryContext } from './context.ts'
import { findEvents } from './find.ts'
import { recordsOf } from './records.ts'

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
