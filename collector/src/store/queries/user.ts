import { cursorOf } from '../cursor.ts'
import type { UserDetail } from '../query-results.ts'
import { type Alias, type IdColumn, Identity, MAX_IDS, type Pair } from '../results/identity.ts'
import { Traits, type TraitsRow } from '../results/traits.ts'
import { all, first, type Query, raw, type Sql, sql } from '../sql.ts'
import type { QueryContext } from './context.ts'
import type { LookupColumn, QueryDialect } from './dialect.ts'
import { receivedAtOf, summariesOf } from './records.ts'

const ROWS_OF_TRAITS = 1000

export interface UserQuery {
  id: string
  order: 'oldest' | 'newest'
  limit: number
  after?: number | undefined
  before?: number | undefined
}

export function* userDetail(context: QueryContext, query: UserQuery): Query<UserDetail | null> {
  const { identity, isComplete } = yield* joinIds(context, query.id)
  const own = eventsOf(context.dialect, identity, 'seq')
  const whole = yield* first<{ first: number | null; last: number | null; count: number }>(
    sql`SELECT min(seq) AS first, max(seq) AS last, count(*) AS count FROM (${own}) AS own`,
  )
  if (whole === undefined || whole.first === null || whole.last === null) return null
  const direction = raw(query.order === 'newest' ? 'DESC' : 'ASC')
  const rows = yield* all<{ seq: number }>(
    sql`SELECT seq FROM (${own}) AS own WHERE seq > ${query.after ?? 0} AND seq < ${query.before ?? Number.MAX_SAFE_INTEGER}
        ORDER BY seq ${direction} LIMIT ${query.limit + 1}`,
  )
  const shown = rows.slice(0, query.limit).map(({ seq }) => seq)
  const traits = yield* traitsOf(context, identity)
  return {
    id: query.id,
    userIds: [...identity.users],
    anonymousIds: [...identity.anonymous],
    links: identity.links,
    firstSeen: yield* timeOf(context, whole.first),
    lastSeen: yield* timeOf(context, whole.last),
    count: whole.count,
    ...traits.told.result,
    events: yield* summariesOf(context, shown),
    next: rows.length > shown.length ? cursorOf(shown.at(-1) ?? 0) : null,
    isComplete: isComplete && traits.isComplete,
  }
}

function* timeOf(context: QueryContext, seq: number): Query<string> {
  return new Date((yield* receivedAtOf(context, seq)) ?? 0).toISOString()
}

/** All events of a person. What an anonymousId sent under another user's id is that user's. */
function eventsOf(dialect: QueryDialect, { users, anonymous }: Identity, columns: string, after = 0): Sql {
  const bounds = { first: Math.max(dialect.first, after + 1), last: dialect.last }
  const found = (column: IdColumn, ids: Iterable<string>) =>
    sql`SELECT ${raw(columns)} FROM ${dialect.lookup(column, dialect.has(column, raw('ids.id')), bounds, dialect.ids([...ids]))}`
  return sql`${found('user_id', users)} UNION ALL ${found('anonymous_id', anonymous)} AND user_id IS NULL`
}

/** Follows events that carry two ids, and aliases, from id to id. */
function* joinIds(context: QueryContext, id: string): Query<{ identity: Identity; isComplete: boolean }> {
  const { dialect, budget } = context
  const identity = new Identity()
  identity.join(yield* columnOf(dialect, id), id)
  let followed = 0
  for (const [column, from] of identity.queue) {
    identity.addPairs(column, from, yield* firstPairs(dialect, column, from))
    for (const alias of yield* aliasesOf(dialect, from)) {
      identity.addAlias(alias)
      for (const one of [alias.userId, alias.previousId]) identity.join(yield* columnOf(dialect, one), one)
    }
    followed++
    if (identity.isFull || budget.isUsedUp) break
  }
  return { identity, isComplete: identity.isFull || followed === identity.queue.length }
}

/** The events that have an id in a column. */
function eventsWith(dialect: QueryDialect, column: LookupColumn, id: string): Sql {
  return dialect.lookup(column, dialect.has(column, sql`${id}`), dialect)
}

/** An id that no event has as its userId is taken for an anonymousId. */
function* columnOf(dialect: QueryDialect, id: string): Query<IdColumn> {
  const row = yield* first(sql`SELECT seq FROM ${eventsWith(dialect, 'user_id', id)} LIMIT 1`)
  return row === undefined ? 'anonymous_id' : 'user_id'
}

/** For each other id that an id came with, the first event that carried both. */
function* firstPairs(dialect: QueryDialect, column: IdColumn, id: string): Query<Pair[]> {
  const other = raw(column === 'user_id' ? 'anonymous_id' : 'user_id')
  const firsts = yield* all<{ seq: number }>(
    sql`SELECT min(seq) AS seq FROM ${eventsWith(dialect, column, id)} AND ${other} IS NOT NULL AND reason IS NULL
        GROUP BY ${other} ORDER BY 1 LIMIT ${MAX_IDS}`,
  )
  if (firsts.length === 0) return []
  return yield* all<Pair>(
    sql`SELECT seq, received_at AS at, kind, ${other} AS found FROM event
        WHERE ${dialect.among(firsts.map(({ seq }) => seq))} ORDER BY seq`,
  )
}

/** Aliases from or to an id. The previousId of an alias is its name. */
function* aliasesOf(dialect: QueryDialect, id: string): Query<Alias[]> {
  const found: Alias[] = []
  for (const column of ['user_id', 'name'] as const) {
    const rows = yield* all<Alias>(
      sql`SELECT seq, received_at AS at, user_id AS "userId", name AS "previousId" FROM ${eventsWith(dialect, column, id)}
            AND kind = 'alias' AND reason IS NULL ORDER BY seq LIMIT ${MAX_IDS}`,
    )
    found.push(...rows)
  }
  return found
}

/** The traits as identify set them one after another, and the groups. */
function* traitsOf(
  { dialect, budget }: QueryContext,
  identity: Identity,
): Query<{ told: Traits; isComplete: boolean }> {
  const told = new Traits()
  for (let after = 0; ; ) {
    const own = eventsOf(dialect, identity, 'seq, kind, name, reason, received_at, body', after)
    const rows = yield* all<TraitsRow>(
      sql`SELECT seq, kind, name, received_at AS at, body FROM (${own}) AS own
          WHERE kind IN ('identify', 'group') AND reason IS NULL ORDER BY seq LIMIT ${ROWS_OF_TRAITS}`,
    )
    for (const row of rows) told.add(row)
    after = rows.at(-1)?.seq ?? 0
    if (rows.length < ROWS_OF_TRAITS) return { told, isComplete: true }
    if (budget.isUsedUp) return { told, isComplete: false }
  }
}
