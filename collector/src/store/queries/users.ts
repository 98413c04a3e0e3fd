import { containsAny } from '../conditions.ts'
import type { Cursor } from '../cursor.ts'
import { raw, type Sql, sql } from '../sql.ts'
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
    name: traitOf(database, person, 'name'),
    email: traitOf(database, person, 'email'),
    count,
    lastSeen: new Date(seen?.at ?? 0).toISOString(),
  }
}

/** From the newest `identify` that has it. */
function traitOf(database: QueryContext['database'], person: string, trait: 'name' | 'email'): string | null {
  const value = raw(`json_extract(body, '$.traits.${trait}')`)
  const found = database.get<{ value: string }>(
    sql`SELECT ${value} AS value FROM event WHERE person = ${person} AND kind = 'identify' AND reason IS NULL
          AND json_type(body, ${`$.traits.${trait}`}) = 'text' AND trim(${value}) <> '' ORDER BY seq DESC LIMIT 1`,
  )
  return found?.value.slice(0, MAX_TRAIT) ?? null
}
