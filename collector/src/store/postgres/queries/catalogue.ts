import type { Message } from '../../../record.ts'
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
import { slices } from '../slices.ts'
import { boundsOf } from '../span.ts'
import type { QueryContext } from './context.ts'

export async function catalogue(context: QueryContext, range: TimeRange): Promise<Catalogue> {
  const entries = await countedEntries(context, range)
  const samples = await learnAll(context, range)
  return samples.catalogue(entries, context.plan)
}

async function countedEntries(
  { sql, plan }: QueryContext,
  range: TimeRange,
  only?: { type: string; name: string },
): Promise<CatalogueEntry[]> {
  const buckets = bucketsOf(range)
  const which = only === undefined ? '' : 'AND kind = $3 AND tally.name = $4'
  const where = `bucket >= $1 AND bucket < $2 AND kind IN ('track', 'page', 'screen', 'identify', 'group', 'alias') ${which} AND count > 0`
  const values = [buckets.first, buckets.end, ...(only === undefined ? [] : [only.type, only.name])]
  const rows = await sql.query<EntryCount>(
    `SELECT kind, name, sum(count) AS count, coalesce(sum(count) FILTER (WHERE reason = ''), 0) AS accepted,
       min(bucket) AS first, max(bucket) AS last
     FROM tally WHERE ${where} GROUP BY kind, name ORDER BY 3 DESC, kind, name LIMIT ${MAX_ENTRIES}`,
    values,
  )
  const entries = new Entries(rows, buckets, plan)
  entries.addSources(
    await sql.query(
      `SELECT kind, tally.name AS name, source.name AS source, sum(count) AS count FROM tally
       JOIN source ON source.id = source_id WHERE ${where}
       GROUP BY kind, tally.name, source_id, source.name ORDER BY 4 DESC, kind, tally.name, source.name`,
      values,
    ),
  )
  const { first, width } = entries.sparks
  const next = values.length
  entries.addSparks(
    await sql.query(
      `SELECT kind, name, (bucket - $${next + 1}::bigint) / $${next + 2}::bigint AS slot, sum(count) AS count
       FROM tally WHERE ${where} GROUP BY kind, name, slot`,
      [...values, first, width],
    ),
  )
  return entries.all
}

/** Learns the shapes of all events from the newest ones. */
async function learnAll({ sql, span }: QueryContext, range: TimeRange): Promise<Samples> {
  const samples = new Samples()
  const budget = new Budget(SAMPLES_MS)
  for (const slice of slices(await boundsOf(sql, span, range), 'newest')) {
    const rows = await sql.query<{
      seq: number
      kind: string
      name: string | null
      body: string
      violations: string | null
    }>(
      `SELECT seq, kind, name, body, violations FROM event
       WHERE seq BETWEEN $1 AND $2 AND day BETWEEN $3::date AND $4::date AND reason IS NULL
         AND received_at >= $5 AND received_at < $6 ORDER BY seq DESC LIMIT $7`,
      [
        slice.first,
        slice.last,
        ...span.daysOf(slice),
        range.fromMs ?? Number.MIN_SAFE_INTEGER,
        range.toMs ?? Number.MAX_SAFE_INTEGER,
        LIST_SAMPLES - samples.count,
      ],
    )
    for (const { seq, kind, name, body, violations } of rows) {
      samples.add(kind, name, JSON.parse(body) as Message, String(seq), violations !== null)
    }
    if (samples.count >= LIST_SAMPLES || budget.isUsedUp) break
  }
  return samples
}

export async function catalogueDetail(
  context: QueryContext,
  query: TimeRange & { key: string },
): Promise<CatalogueDetail | null> {
  const kind = readKey(query.key)
  const [entry] = await countedEntries(context, query, kind)
  if (entry === undefined) return null
  const found = await findEvents(
    context,
    { ...query, search: samplesOf(kind), order: 'newest', limit: ENTRY_SAMPLES },
    new Budget(SAMPLES_MS),
  )
  return detailOf(entry, await recordsOf(context, found.seqs))
}

/** The schemas of all events, learnt from the newest ones. */
export async function schemas(context: QueryContext, range: TimeRange): Promise<EventSchema[]> {
  return (await learnAll(context, range)).schemas()
}
