import { cursorOf } from '../../place.ts'
import type { UserDetail } from '../../query-results.ts'
import { type Alias, type IdColumn, Identity, MAX_IDS, type Pair } from '../../results/identity.ts'
import { Traits, type TraitsRow } from '../../results/traits.ts'
import type { Database, SqlValue } from '../database.ts'
import { summariesOf } from '../records.ts'
import { SEGMENT_BITS, segmentOf } from '../schema.ts'
import { type Bounds, boundsOf, slices } from '../slices.ts'
import type { Work } from '../work.ts'
import type { QueryContext } from './context.ts'

export interface UserQuery {
  id: string
  order: 'oldest' | 'newest'
  limit: number
  after?: number | undefined
  before?: number | undefined
}

export function* userDetail(context: QueryContext, query: UserQuery): Work<UserDetail | null> {
  const { database } = context
  const bounds = boundsOf(database)
  const identity = yield* joinIds(context, query.id, bounds)
  const seqs = yield* timeline(context, identity, bounds)
  const [first, last] = [seqs[0], seqs.at(-1)]
  if (first === undefined || last === undefined) return null
  const wanted = seqs.filter(
    (seq) => seq > (query.after ?? 0) && seq < (query.before ?? Number.MAX_SAFE_INTEGER),
  )
  if (query.order === 'newest') wanted.reverse()
  const shown = wanted.slice(0, query.limit)
  const timeOf = (seq: number) => {
    const atMs = database.value<number>('SELECT received_at AS value FROM event WHERE seq = ?', seq)
    return new Date(atMs ?? 0).toISOString()
  }
  const told = yield* traitsOf(database, seqs)
  return {
    id: query.id,
    userIds: [...identity.users],
    anonymousIds: [...identity.anonymous],
    links: identity.links,
    firstSeen: timeOf(first),
    lastSeen: timeOf(last),
    count: seqs.length,
    ...told,
    events: summariesOf(database, shown),
    next: wanted.length > shown.length ? cursorOf(shown.at(-1) ?? 0) : null,
    isComplete: !context.budget.isUsedUp,
  }
}

/** Follows events that carry two ids, and aliases, from id to id. */
function* joinIds({ database, budget }: QueryContext, id: string, bounds: Bounds): Work<Identity> {
  const identity = new Identity()
  const columnOf = (one: string) => (isThere(database, 'user_id', one, bounds) ? 'user_id' : 'anonymous_id')
  identity.join(columnOf(id), id)
  for (const [column, from] of identity.queue) {
    const other = column === 'user_id' ? 'anonymous_id' : 'user_id'
    identity.addPairs(column, from, firstPairs(database, column, from, other, bounds))
    yield
    for (const alias of aliasesOf(database, from, bounds)) {
      identity.addAlias(alias)
      for (const one of [alias.userId, alias.previousId]) identity.join(columnOf(one), one)
    }
    yield
    if (identity.isFull || budget.isUsedUp) break
  }
  return identity
}

/** One segment's part of a question about events with an id, by the index. */
function bySegment<T>(
  database: Database,
  bounds: Bounds,
  column: 'user_id' | 'anonymous_id' | 'name',
  value: string,
  select: string,
  rest = '',
  ...values: SqlValue[]
): T[] {
  const rows: T[] = []
  for (const { first, last } of slices(bounds, 'oldest', 1)) {
    rows.push(
      ...database.all<T>(
        `SELECT ${select} FROM event INDEXED BY event_${column}
         WHERE seq >> ${SEGMENT_BITS} = ? AND ${column} = ? AND seq BETWEEN ? AND ? ${rest}`,
        segmentOf(first),
        value,
        first,
        last,
        ...values,
      ),
    )
  }
  return rows
}

function isThere(database: Database, column: IdColumn, id: string, bounds: Bounds): boolean {
  return bySegment(database, bounds, column, id, 'seq', 'LIMIT 1').length > 0
}

/** For each other id that an id came with, the first event that carried both. */
function firstPairs(
  database: Database,
  column: IdColumn,
  id: string,
  other: IdColumn,
  bounds: Bounds,
): Pair[] {
  return bySegment(
    database,
    bounds,
    column,
    id,
    `min(seq) AS seq, received_at AS at, kind, ${other} AS found`,
    `AND ${other} IS NOT NULL AND reason IS NULL GROUP BY ${other} LIMIT ?`,
    MAX_IDS,
  )
}

/** Aliases from or to an id. The previousId of an alias is its name. */
function aliasesOf(database: Database, id: string, bounds: Bounds): Alias[] {
  const select = 'seq, received_at AS at, user_id AS userId, name AS previousId'
  const rest = "AND kind = 'alias' AND reason IS NULL LIMIT ?"
  return [
    ...bySegment<Alias>(database, bounds, 'user_id', id, select, rest, MAX_IDS),
    ...bySegment<Alias>(database, bounds, 'name', id, select, rest, MAX_IDS),
  ]
}

/** Numbers of all events of a person, oldest first. What an anonymousId sent under another user's id is that user's. */
function* timeline({ database }: QueryContext, identity: Identity, bounds: Bounds): Work<number[]> {
  const seqs: number[] = []
  for (const id of identity.users) {
    for (const { seq } of bySegment<{ seq: number }>(database, bounds, 'user_id', id, 'seq')) seqs.push(seq)
    yield
  }
  for (const id of identity.anonymous) {
    const rows = bySegment<{ seq: number }>(
      database,
      bounds,
      'anonymous_id',
      id,
      'seq',
      'AND user_id IS NULL',
    )
    for (const { seq } of rows) seqs.push(seq)
    yield
  }
  return seqs.sort((a, b) => a - b)
}

function* traitsOf(
  database: Database,
  seqs: readonly number[],
): Work<Pick<UserDetail, 'traits' | 'traitHistory' | 'groups'>> {
  const traits = new Traits()
  for (let start = 0; start < seqs.length; start += 500) {
    const part = seqs.slice(start, start + 500)
    const rows = database.all<TraitsRow>(
      `SELECT seq, kind, name, received_at AS at, body FROM event
       WHERE seq IN (SELECT value FROM json_each(?)) AND kind IN ('identify', 'group') AND reason IS NULL ORDER BY seq`,
      JSON.stringify(part),
    )
    for (const row of rows) traits.add(row)
    yield
  }
  return traits.result
}
