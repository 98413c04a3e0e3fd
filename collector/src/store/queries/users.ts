import { containsAny } from '../conditions.ts'
import type { Cursor } from '../cursor.ts'
import { raw, type Sql, sql } from '../sql.ts'
import { storedMessage } from '../stored-message.ts'
import type { QueryContext } from './context.ts'

const MAX_TRAIT = 200

/** Persons in the order of their last event, newest first. */
export function listUsers(
  { database }: QueryContext,
  { q, limit, cursor }: { q: string; limit: number; cursor?: Cursor | undefined },
) {
  const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor)
  const rows = database.all<{ person: string; last: number; count: number }>(
    sql`SELECT person, max(seq) AS last, count(*) AS count FROM event WHERE person IS NOT NULL AND ${matching(q)}
        GROUP BY person HAVING last < ${before} ORDER BY last DESC LIMIT ${limit + 1}`,
  )
  const shown = rows.slice(0, limit)
  const end = shown.at(-1)?.last ?? 0
  return {
    users: shown.map((row) => entryOf(database, row)),
    next: rows.length > limit ? String(end) : null,
  }
}

/** A part of an id, or of a text among the traits. */
function matching(q: string): Sql {
  if (q === '') return raw('TRUE')
  const traits = sql`kind = 'identify' AND reason IS NULL AND EXISTS (
    SELECT 1 FROM json_each(body, '$.traits')
    WHERE type = 'text' AND ${containsAny(['value'], q)})`
  return sql`person IN (
    SELECT person FROM event WHERE ${containsAny(['person', 'userId', 'anonymousId'], q)} OR (${traits}))`
}

function entryOf(
  database: QueryContext['database'],
  { person, last, count }: { person: string; last: number; count: number },
) {
  const seen = database.get<{ at: number; isUser: number }>(
    sql`SELECT received_at AS at, EXISTS (SELECT 1 FROM event WHERE person = ${person} AND userId IS NOT NULL) AS isUser
        FROM event WHERE seq = ${last}`,
  )
  const isUser = seen?.isUser === 1
  return {
    id: person,
    userId: isUser ? person : null,
    anonymousId: isUser ? null : person,
    ...nameOf(database, person),
    count,
    lastSeen: new Date(seen?.at ?? 0).toISOString(),
  }
}

/** From the newest `identify`; what it lacks comes from the first one. */
function nameOf(database: QueryContext['database'], person: string) {
  const one = (direction: 'ASC' | 'DESC') =>
    sql`SELECT body FROM event WHERE person = ${person} AND kind = 'identify' AND reason IS NULL ORDER BY seq ${raw(direction)} LIMIT 1`
  const newest = database.get<{ body: string | null }>(one('DESC'))
  if (newest === undefined) return { name: null, email: null }
  const first = database.get<{ body: string | null }>(one('ASC'))
  const traits = [newest, first].map((row) => Object(storedMessage(row?.body ?? null)?.traits))
  const text = (trait: string): string | null => {
    const value = traits
      .map((one) => one[trait] as unknown)
      .find((one) => typeof one === 'string' && one.trim())
    return typeof value === 'string' ? value.slice(0, MAX_TRAIT) : null
  }
  return { name: text('name'), email: text('email') }
}
