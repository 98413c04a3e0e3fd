import { cursorOf } from '../../place.ts'
import type { UserEntry, UsersPage } from '../../query-results.ts'
import { SEGMENT_BITS } from '../schema.ts'
import { boundsOf, slices } from '../slices.ts'
import type { Work } from '../work.ts'
import type { QueryContext } from './context.ts'

/**
 * Users in the order in which they were active last, segment by segment of the log.
 *
 * The cursor is the end of a segment: whoever appears in a newer one was on an earlier page.
 */
export function* listUsers(
  { database, budget }: QueryContext,
  query: { q: string; limit: number; before?: number | undefined },
): Work<UsersPage> {
  const bounds = boundsOf(database)
  const all = { ...bounds }
  if (query.before !== undefined) bounds.last = Math.min(bounds.last, query.before - 1)
  const found = new Map<string, { id: string; isUser: boolean; lastSeq: number }>()
  const pattern = `%${query.q.replace(/[\\%_]/g, '\\$&')}%`
  let next: string | null = null
  let isComplete = true
  for (const { first, last } of slices(bounds, 'newest', 1)) {
    for (const [column, isUser] of [
      ['user_id', true],
      ['anonymous_id', false],
    ] as const) {
      const noUser = isUser ? '' : 'AND user_id IS NULL'
      const rows = database.all<{ id: string; seq: number }>(
        `SELECT ${column} AS id, max(seq) AS seq FROM event INDEXED BY event_${column}
         WHERE seq >> ${SEGMENT_BITS} = ? >> ${SEGMENT_BITS} AND seq BETWEEN ? AND ? AND ${column} IS NOT NULL ${noUser} AND ${column} LIKE ? ESCAPE '\\'
         GROUP BY ${column}`,
        first,
        first,
        last,
        pattern,
      )
      for (const { id, seq } of rows) {
        const key = `${isUser ? 'u' : 'a'}${id}`
        if (!found.has(key) && !isNewerSeen(database, column, id, last, query.before, all.last)) {
          found.set(key, { id, isUser, lastSeq: seq })
        }
      }
    }
    yield
    if (first <= bounds.first) break
    if (found.size >= query.limit || budget.isUsedUp) {
      next = cursorOf(first)
      isComplete = found.size >= query.limit
      break
    }
  }
  const users = [...found.values()].sort((a, b) => b.lastSeq - a.lastSeq)
  const entries: UserEntry[] = []
  for (const user of users) {
    entries.push(entryOf(database, user, !budget.isUsedUp))
    yield
  }
  return { users: entries, next, isComplete }
}

/** Whether an id was active after the page began, and so was on an earlier page. */
function isNewerSeen(
  database: QueryContext['database'],
  column: 'user_id' | 'anonymous_id',
  id: string,
  last: number,
  before: number | undefined,
  newest: number,
): boolean {
  if (before === undefined) return false
  const noUser = column === 'user_id' ? '' : 'AND user_id IS NULL'
  return (
    database.value<number>(
      `WITH RECURSIVE segments(n) AS (SELECT ?1 >> ${SEGMENT_BITS} UNION ALL SELECT n + 1 FROM segments WHERE n < ?2 >> ${SEGMENT_BITS})
       SELECT seq AS value FROM segments CROSS JOIN event INDEXED BY event_${column}
       ON seq >> ${SEGMENT_BITS} = n AND ${column} = ?3 WHERE seq > ?4 AND seq <= ?2 ${noUser} LIMIT 1`,
      last + 1,
      newest,
      id,
      last,
    ) !== undefined
  )
}

function entryOf(
  database: QueryContext['database'],
  user: { id: string; isUser: boolean; lastSeq: number },
  isCounted: boolean,
): UserEntry {
  const { id, isUser, lastSeq } = user
  const atMs = database.value<number>('SELECT received_at AS value FROM event WHERE seq = ?', lastSeq)
  return {
    id,
    userId: isUser ? id : null,
    anonymousId: isUser ? null : id,
    count: isCounted ? countOf(database, isUser ? 'user_id' : 'anonymous_id', id) : null,
    lastSeen: new Date(atMs ?? 0).toISOString(),
  }
}

/** How many events carry an id. */
export function countOf(
  database: QueryContext['database'],
  column: 'user_id' | 'anonymous_id',
  id: string,
): number {
  const { first, last } = boundsOf(database)
  return (
    database.value<number>(
      `WITH RECURSIVE segments(n) AS (SELECT ?1 >> ${SEGMENT_BITS} UNION ALL SELECT n + 1 FROM segments WHERE n < ?2 >> ${SEGMENT_BITS})
       SELECT count(*) AS value FROM segments CROSS JOIN event INDEXED BY event_${column}
       ON seq >> ${SEGMENT_BITS} = n AND ${column} = ?3 WHERE seq >= ?1 ${column === 'user_id' ? '' : 'AND user_id IS NULL'}`,
      first,
      last,
      id,
    ) ?? 0
  )
}
