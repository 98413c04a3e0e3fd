import type { EventChanges } from '../changes/changes.ts'
import { byName, type NameTally, tallyOf } from '../changes/tally.ts'
import { isNamed, keyOf, readKey } from '../event-key.ts'
import type { TrackingPlan } from '../plan/plan.ts'
import { term } from '../search/syntax.ts'
import type { QueryContext } from '../store/queries/context.ts'
import { recordsOf } from '../store/queries/events.ts'
import { allOf, among, raw, type Sql, sql, type TimeRange, within } from '../store/sql.ts'
import { storedMessage } from '../store/stored-message.ts'
import { FieldValues, fieldsOf, isInconsistent, pathsOf } from './fields.ts'
import { schemaOf } from './schema.ts'

const SPARKS = 24
const MAX_SOURCES = 20
const MAX_ENTRIES = 1000
const VALUES_OF = 100
const MAX_EXAMPLES = 200
/** The name under which an event is counted: for other kinds, the column has an id. */
const NAME = raw("CASE WHEN kind IN ('track', 'page', 'screen') THEN coalesce(name, '') ELSE '' END")
/** This index has all that is counted. Of a frequent name, the index of names would lead to each event in the table. */
const FACTS = raw('event INDEXED BY event_facts')
const KINDS = raw("kind IN ('track', 'page', 'screen', 'identify', 'group', 'alias')")

export async function catalogue(context: QueryContext, events: EventChanges, range: TimeRange) {
  const entries = countedEntries(context, range)
  const tallies = await talliesOf(events, range)
  const { plan } = context
  const seen = new Set(entries.map(({ key }) => key))
  return {
    entries: entries
      .slice(0, MAX_ENTRIES)
      .map((entry) => ({ ...entry, ...countsOf(tallies.get(entry.key)) })),
    plan: plan && {
      title: plan.title,
      events: plan.keys.length,
      unseen: plan.keys.filter((key) => !seen.has(key)),
    },
    isComplete: entries.length <= MAX_ENTRIES,
  }
}

/** What the accepted events have in common, by the keys of their entries. */
async function talliesOf(events: EventChanges, range: TimeRange): Promise<Map<string, NameTally>> {
  const { shapes } = await events.side(range)
  const tallies = [...byName(shapes).values()].map(tallyOf)
  return new Map(tallies.map((tally) => [keyOf(tally.kind, tally.name), tally]))
}

/** Paths with values, and those with contradicting types; null if no event was accepted. */
function countsOf(tally: NameTally | undefined): {
  properties: number | null
  inconsistent: number | null
} {
  if (tally === undefined) return { properties: null, inconsistent: null }
  const paths = pathsOf(tally)
  return {
    properties: paths.length,
    inconsistent: paths.filter(([, path]) => isInconsistent(path)).length,
  }
}

/** One row for each slot of the sparklines, so that the events are grouped only once. */
interface Group {
  kind: string
  name: string
  source: string
  slot: number
  count: number
  accepted: number
  repeated: number
  /** Milliseconds since the epoch. */
  first: number
  last: number
}

/** The entries with their counts, the most frequent first. */
function countedEntries(
  { database, plan }: QueryContext,
  range: TimeRange,
  only?: { type: string; name: string },
) {
  const where = allOf([within('received_at', range), KINDS, ...(only === undefined ? [] : [isEntry(only)])])
  const at = (order: 'ASC' | 'DESC') =>
    database.number(
      sql`SELECT received_at AS value FROM ${FACTS} WHERE ${where} ORDER BY received_at ${raw(order)} LIMIT 1`,
    )
  // The sparklines of all entries share one time axis, which begins with the earliest event.
  const start = at('ASC')
  const width = Math.max(1, Math.ceil((at('DESC') + 1 - start) / SPARKS))
  const groups = database.all<Group>(
    sql`SELECT kind, ${NAME} AS name, source, CAST((received_at - ${start}) / ${width} AS INTEGER) AS slot, count(*) AS count,
          count(*) FILTER (WHERE reason IS NULL) AS accepted, count(*) FILTER (WHERE reason = 'duplicate') AS repeated,
          min(received_at) AS first, max(received_at) AS last
        FROM ${FACTS} WHERE ${where} GROUP BY 1, 2, 3, 4`,
  )
  const byKey = new Map<string, Group[]>()
  for (const group of groups) {
    const key = keyOf(group.kind, group.name)
    const known = byKey.get(key)
    if (known === undefined) byKey.set(key, [group])
    else known.push(group)
  }
  const entries = [...byKey].map(([key, own]) => newEntry(key, own, plan))
  const byEntry = new Map(entries.map((entry) => [entry.key, entry]))
  const violations = database.all<{ kind: string; name: string; count: number }>(
    sql`SELECT kind, ${NAME} AS name, count(*) AS count FROM event WHERE violations IS NOT NULL AND ${where} GROUP BY 1, 2`,
  )
  for (const { kind, name, count } of violations) {
    const entry = byEntry.get(keyOf(kind, name))
    if (entry !== undefined) entry.violations = count
  }
  return entries.sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1))
}

function newEntry(key: string, groups: readonly Group[], plan: TrackingPlan | null) {
  const { type, name } = readKey(key)
  const sum = (of: 'count' | 'accepted' | 'repeated') => groups.reduce((all, group) => all + group[of], 0)
  const [count, accepted, repeated] = [sum('count'), sum('accepted'), sum('repeated')]
  const sparkline: number[] = Array(SPARKS).fill(0)
  const sources = new Map<string, number>()
  for (const { slot, source, count } of groups) {
    sparkline[slot] = (sparkline[slot] ?? 0) + count
    sources.set(source, (sources.get(source) ?? 0) + count)
  }
  return {
    key,
    type,
    name,
    count,
    accepted,
    rejected: count - accepted - repeated,
    repeated,
    firstSeen: new Date(Math.min(...groups.map(({ first }) => first))).toISOString(),
    lastSeen: new Date(Math.max(...groups.map(({ last }) => last))).toISOString(),
    sources: [...sources]
      .map(([name, count]) => ({ name, count }))
      .sort((a, b) => b.count - a.count)
      .slice(0, MAX_SOURCES),
    sparkline,
    violations: 0,
    isPlanned: plan === null ? null : plan.has(key),
    q:
      type === 'track' ? term('event', name) : `type:${type}${isNamed(type) ? ` ${term('name', name)}` : ''}`,
  }
}

function isEntry({ type, name }: { type: string; name: string }): Sql {
  const isKind = sql`kind = ${type}`
  if (!isNamed(type)) return isKind
  return name === '' ? sql`${isKind} AND (name IS NULL OR name = '')` : sql`${isKind} AND name = ${name}`
}

export async function catalogueDetail(
  context: QueryContext,
  events: EventChanges,
  query: TimeRange & { key: string },
) {
  const [entry] = countedEntries(context, query, readKey(query.key))
  if (entry === undefined) return null
  const tally = (await talliesOf(events, query)).get(entry.key)
  const fields = tally === undefined ? [] : readFields(context, query, tally)
  return {
    ...entry,
    ...countsOf(tally),
    fields,
    example: tally === undefined ? null : (recordsOf(context, [tally.newest])[0] ?? null),
    schema: schemaOf(fields),
  }
}

export async function schemas(context: QueryContext, events: EventChanges, range: TimeRange) {
  const entries = countedEntries(context, range)
  const tallies = await talliesOf(events, range)
  return {
    schemas: entries.slice(0, MAX_ENTRIES).map(({ key, type, name }) => {
      const tally = tallies.get(key)
      return { type, name, schema: schemaOf(tally === undefined ? [] : readFields(context, range, tally)) }
    }),
    isComplete: entries.length <= MAX_ENTRIES,
  }
}

/** The types are those of all events; the values are read from the newest, and from one with each type. */
function readFields({ database }: QueryContext, range: TimeRange, tally: NameTally) {
  const { kind, name } = tally
  const where = allOf([within('received_at', range), isEntry({ type: kind, name })])
  const newest = database.all<{ seq: number; body: string | null }>(
    sql`SELECT seq, body FROM event WHERE ${where} AND reason IS NULL ORDER BY seq DESC LIMIT ${VALUES_OF}`,
  )
  const read = new Set(newest.map(({ seq }) => seq))
  const examples = [...tally.paths.values()].flatMap(({ types }) =>
    [...types.values()].map((one) => one.newest),
  )
  const missing = [...new Set(examples)].filter((seq) => !read.has(seq)).slice(0, MAX_EXAMPLES)
  const others = database.all<{ body: string | null }>(
    sql`SELECT body FROM event WHERE ${among('seq', missing)} ORDER BY seq DESC`,
  )
  const values = new FieldValues()
  for (const { body } of [...newest, ...others]) {
    const message = storedMessage(body)
    if (message !== null) values.add(kind, message)
  }
  return fieldsOf(tally, values)
}
