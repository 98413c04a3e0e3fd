import { cursorOf } from '../../place.ts'
import type { UserDetail } from '../../query-results.ts'
import { type Alias, type IdColumn, Identity, MAX_IDS, type Pair } from '../../results/identity.ts'
import { Traits, type TraitsRow } from '../../results/traits.ts'
import type { SqlValue } from '../database.ts'
import { receivedAtOf, summariesOf } from '../records.ts'
import type { QueryContext } from './context.ts'

const ROWS_OF_TRAITS = 1000

export interface UserQuery {
  id: string
  order: 'oldest' | 'newest'
  limit: number
  after?: number | undefined
  before?: number | undefined
}

export async function userDetail(context: QueryContext, query: UserQuery): Promise<UserDetail | null> {
  const { identity, isComplete } = await joinIds(context, query.id)
  const events = eventsOf(identity)
  const [whole] = await context.sql.query<{ first: number | null; last: number | null; count: number }>(
    `SELECT min(seq) AS first, max(seq) AS last, count(*) AS count FROM (${events.sql}) AS own`,
    events.values,
  )
  if (whole === undefined || whole.first === null || whole.last === null) return null
  const rows = await context.sql.query<{ seq: number }>(
    `SELECT seq FROM (${events.sql}) AS own WHERE seq > $3 AND seq < $4
     ORDER BY seq ${query.order === 'newest' ? 'DESC' : 'ASC'} LIMIT $5`,
    [...events.values, query.after ?? 0, query.before ?? Number.MAX_SAFE_INTEGER, query.limit + 1],
  )
  const shown = rows.slice(0, query.limit).map(({ seq }) => seq)
  const traits = await traitsOf(context, events)
  return {
    id: query.id,
    userIds: [...identity.users],
    anonymousIds: [...identity.anonymous],
    links: identity.links,
    firstSeen: await timeOf(context, whole.first),
    lastSeen: await timeOf(context, whole.last),
    count: whole.count,
    ...traits.told.result,
    events: await summariesOf(context, shown),
    next: rows.length > shown.length ? cursorOf(shown.at(-1) ?? 0) : null,
    isComplete: isComplete && traits.isComplete,
  }
}

async function timeOf(context: QueryContext, seq: number): Promise<string> {
  return new Date((await receivedAtOf(context, seq)) ?? 0).toISOString()
}

/** All events of a person. What an anonymousId sent under another user's id is that user's. */
function eventsOf({ users, anonymous }: Identity): { sql: string; values: SqlValue[] } {
  const columns = 'seq, day, kind, name, reason, received_at, body'
  return {
    sql: `SELECT ${columns} FROM event WHERE brief(user_id) = ANY (ARRAY(SELECT brief(id) FROM unnest($1::text[]) AS ids(id)))
        AND user_id = ANY ($1::text[])
      UNION ALL
      SELECT ${columns} FROM event WHERE brief(anonymous_id) = ANY (ARRAY(SELECT brief(id) FROM unnest($2::text[]) AS ids(id)))
        AND anonymous_id = ANY ($2::text[]) AND user_id IS NULL`,
    values: [[...users], [...anonymous]],
  }
}

/** Follows events that carry two ids, and aliases, from id to id. */
async function joinIds(
  context: QueryContext,
  id: string,
): Promise<{ identity: Identity; isComplete: boolean }> {
  const identity = new Identity()
  const columnOf = async (one: string): Promise<IdColumn> =>
    (await isThere(context, one)) ? 'user_id' : 'anonymous_id'
  identity.join(await columnOf(id), id)
  let followed = 0
  for (const [column, from] of identity.queue) {
    identity.addPairs(column, from, await firstPairs(context, column, from))
    for (const alias of await aliasesOf(context, from)) {
      identity.addAlias(alias)
      for (const one of [alias.userId, alias.previousId]) identity.join(await columnOf(one), one)
    }
    followed++
    if (identity.isFull || context.budget.isUsedUp) break
  }
  return { identity, isComplete: identity.isFull || followed === identity.queue.length }
}

/** Whether any event has this userId. */
async function isThere({ sql }: QueryContext, id: string): Promise<boolean> {
  const rows = await sql.query(
    'SELECT seq FROM event WHERE brief(user_id) = brief($1) AND user_id = $1 LIMIT 1',
    [id],
  )
  return rows.length > 0
}

/** For each other id that an id came with, the first event that carried both. */
function firstPairs({ sql }: QueryContext, column: IdColumn, id: string): Promise<Pair[]> {
  const other = column === 'user_id' ? 'anonymous_id' : 'user_id'
  return sql.query<Pair>(
    `SELECT DISTINCT ON (${other}) seq, received_at AS at, kind, ${other} AS found FROM event
     WHERE brief(${column}) = brief($1) AND ${column} = $1 AND ${other} IS NOT NULL AND reason IS NULL
     ORDER BY ${other}, seq LIMIT ${MAX_IDS}`,
    [id],
  )
}

/** Aliases from or to an id. The previousId of an alias is its name. */
async function aliasesOf({ sql }: QueryContext, id: string): Promise<Alias[]> {
  const found: Alias[] = []
  for (const column of ['user_id', 'name']) {
    const rows = await sql.query<Alias>(
      `SELECT seq, received_at AS at, user_id AS "userId", name AS "previousId" FROM event
       WHERE brief(${column}) = brief($1) AND ${column} = $1 AND kind = 'alias' AND reason IS NULL
       ORDER BY seq LIMIT ${MAX_IDS}`,
      [id],
    )
    found.push(...rows)
  }
  return found
}

/** The traits as identify set them one after another, and the groups. */
async function traitsOf(
  { sql, budget }: QueryContext,
  events: { sql: string; values: SqlValue[] },
): Promise<{ told: Traits; isComplete: boolean }> {
  const told = new Traits()
  for (let after = 0; ; ) {
    const rows = await sql.query<TraitsRow>(
      `SELECT seq, kind, name, received_at AS at, body FROM (${events.sql}) AS own
       WHERE kind IN ('identify', 'group') AND reason IS NULL AND seq > $3 ORDER BY seq LIMIT ${ROWS_OF_TRAITS}`,
      [...events.values, after],
    )
    for (const row of rows) told.add(row)
    after = rows.at(-1)?.seq ?? 0
    if (rows.length < ROWS_OF_TRAITS) return { told, isComplete: true }
    if (budget.isUsedUp) return { told, isComplete: false }
  }
}
