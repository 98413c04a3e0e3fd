import { escapeForStore } from '../../escape.ts'
import { cursorOf } from '../../place.ts'
import type { UserEntry, UsersPage } from '../../query-results.ts'
import type { IdColumn } from '../../results/identity.ts'
import { anywhere } from '../../search/condition.ts'
import type { Bounds, Span } from '../span.ts'
import type { QueryContext } from './context.ts'

/** Users are looked for in segments of so many numbers; a page ends where one ends. */
const SEGMENT_SIZE = 4096
const IDS_PER_STATEMENT = 50

interface FoundUser {
  id: string
  column: IdColumn
  lastSeq: number
}

/**
 * Users in the order in which they were active last, segment by segment of the log.
 *
 * The cursor is the end of a segment: who appears in a newer one was on an earlier page.
 */
export async function listUsers(
  context: QueryContext,
  query: { q: string; limit: number; before?: number | undefined },
): Promise<UsersPage> {
  const { span, budget } = context
  const pattern = anywhere(escapeForStore(query.q))
  const found: FoundUser[] = []
  const known = new Set<string>()
  let next: string | null = null
  let isComplete = true
  let last = query.before === undefined ? span.last : Math.min(span.last, query.before - 1)
  for (let segments = 1; last >= span.first; ) {
    const end = last - (last % SEGMENT_SIZE) - (segments - 1) * SEGMENT_SIZE
    const slice = { first: Math.max(span.first, end), last }
    for (const column of ['user_id', 'anonymous_id'] as const) {
      const here = (await usersIn(context, column, slice, pattern)).filter(
        ({ id }) => !known.has(`${column}${id}`),
      )
      const earlier = query.before === undefined ? new Set() : await activeAfter(context, column, here, last)
      for (const user of here) {
        known.add(`${column}${user.id}`)
        if (!earlier.has(user.id)) found.push(user)
      }
    }
    if (slice.first <= span.first) break
    if (found.length >= query.limit || budget.isUsedUp) {
      next = cursorOf(slice.first)
      isComplete = found.length >= query.limit
      break
    }
    // Where nobody is found a larger step is as quick.
    if (found.length === 0) segments = Math.min(64, segments * 2)
    last = slice.first - 1
  }
  found.sort((a, b) => b.lastSeq - a.lastSeq)
  return { users: await entriesOf(context, found), next, isComplete }
}

/** An anonymousId that came with a userId is that user's. */
const own = (column: IdColumn) => (column === 'user_id' ? '' : 'AND user_id IS NULL')

async function usersIn(
  { sql, span }: { sql: QueryContext['sql']; span: Span },
  column: IdColumn,
  slice: Bounds,
  pattern: string,
): Promise<FoundUser[]> {
  const rows = await sql.query<{ id: string; seq: number }>(
    `SELECT ${column} AS id, max(seq) AS seq FROM event
     WHERE seq BETWEEN $1 AND $2 AND day BETWEEN $3::date AND $4::date
       AND ${column} IS NOT NULL ${own(column)} AND ${column} ILIKE $5 GROUP BY ${column}`,
    [slice.first, slice.last, ...span.daysOf(slice), pattern],
  )
  return rows.map(({ id, seq }) => ({ id, column, lastSeq: seq }))
}

/** Which of the ids were active after the page began, and so were on an earlier page. */
async function activeAfter(
  { sql }: QueryContext,
  column: IdColumn,
  users: readonly FoundUser[],
  last: number,
): Promise<Set<unknown>> {
  const rows = await sql.query<{ id: string }>(
    `SELECT id FROM unnest($1::text[]) AS ids(id) WHERE EXISTS (SELECT FROM event
       WHERE brief(${column}) = brief(id) AND ${column} = id AND seq > $2 ${own(column)})`,
    [users.map(({ id }) => id), last],
  )
  return new Set(rows.map(({ id }) => id))
}

async function entriesOf(context: QueryContext, users: readonly FoundUser[]): Promise<UserEntry[]> {
  const entries: UserEntry[] = []
  for (let start = 0; start < users.length; start += IDS_PER_STATEMENT) {
    const part = users.slice(start, start + IDS_PER_STATEMENT)
    const times = await timesOf(context, part)
    const counts = new Map<string, number>()
    if (!context.budget.isUsedUp) {
      for (const column of ['user_id', 'anonymous_id'] as const)
        await addCounts(context, column, part, counts)
    }
    for (const { id, column, lastSeq } of part) {
      const isUser = column === 'user_id'
      entries.push({
        id,
        userId: isUser ? id : null,
        anonymousId: isUser ? null : id,
        count: counts.get(`${column}${id}`) ?? null,
        lastSeen: new Date(times.get(lastSeq) ?? 0).toISOString(),
      })
    }
  }
  return entries
}

async function timesOf(
  { sql, span }: QueryContext,
  users: readonly FoundUser[],
): Promise<Map<number, number>> {
  const seqs = users.map(({ lastSeq }) => lastSeq)
  const rows = await sql.query<{ seq: number; at: number }>(
    `SELECT seq, received_at AS at FROM event
     WHERE seq = ANY ($1::bigint[]) AND day BETWEEN $2::date AND $3::date`,
    [seqs, ...span.daysOf({ first: Math.min(...seqs), last: Math.max(...seqs) })],
  )
  return new Map(rows.map(({ seq, at }) => [seq, at]))
}

async function addCounts(
  { sql }: QueryContext,
  column: IdColumn,
  users: readonly FoundUser[],
  counts: Map<string, number>,
): Promise<void> {
  const ids = users.filter((user) => user.column === column).map(({ id }) => id)
  if (ids.length === 0) return
  const rows = await sql.query<{ id: string; count: number }>(
    `SELECT id, (SELECT count(*) FROM event WHERE brief(${column}) = brief(id) AND ${column} = id ${own(column)}) AS count
     FROM unnest($1::text[]) AS ids(id)`,
    [ids],
  )
  for (const { id, count } of rows) counts.set(`${column}${id}`, count)
}
