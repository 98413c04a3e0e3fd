import type { Message } from '../../record.ts'
import { cursorOf } from '../cursor.ts'
import type { Bounds, Dialect, IdColumn } from '../dialect.ts'
import type { UserEntry, UsersPage } from '../query-results.ts'
import { contains } from '../search/condition.ts'
import { all, type Query, raw, type Sql, sql } from '../sql.ts'
import type { QueryContext } from './context.ts'
import { recordsOf } from './records.ts'

/** Users are searched in segments of this many sequence numbers, newest first. A page ends at the end of a segment. */
const SEGMENT_SIZE = 4096
const MAX_SEGMENTS = 64
/** The first of these always have a name and a number of events, even if the time is used up. */
const IDS_PER_STATEMENT = 100
const COLUMNS = ['user_id', 'anonymous_id'] as const
/** Events in one slice whose traits are searched. */
const MAX_IDENTIFIES = 500
/** The traits of a user are looked for in this many of the newest and of the oldest events of the user. */
const NEWEST_READ = 100
const OLDEST_READ = 20

interface FoundUser {
  id: string
  column: IdColumn
  lastSeq: number
}

/**
 * Users in the order of their last event, newest first. The page goes on before the sequence number of the cursor. A user with
 * an event newer than this page was listed on an earlier page, and is left out.
 */
export function* listUsers(
  context: QueryContext,
  query: { q: string; limit: number; before?: number | undefined },
): Query<UsersPage> {
  const { dialect, budget } = context
  const found: FoundUser[] = []
  const known = new Set<string>()
  let next: string | null = null
  let isComplete = true
  const end = query.before === undefined ? dialect.last : Math.min(dialect.last, query.before - 1)
  for (let last = end, segments = 1; last >= dialect.first; ) {
    const start = last - (last % SEGMENT_SIZE) - (segments - 1) * SEGMENT_SIZE
    const slice = { first: Math.max(dialect.first, start), last }
    for (const column of COLUMNS) {
      const here = (yield* usersIn(dialect, column, slice, query.q)).filter(
        ({ id }) => !known.has(`${column}${id}`),
      )
      const earlier = query.before === undefined ? new Set() : yield* activeAfter(dialect, column, here, end)
      for (const user of here) {
        known.add(`${column}${user.id}`)
        if (!earlier.has(user.id)) found.push(user)
      }
    }
    for (const user of yield* usersByTraits(dialect, slice, query.q)) {
      const key = `${user.column}${user.id}`
      if (!known.has(key)) found.push(user)
      known.add(key)
    }
    if (slice.first <= dialect.first) break
    if (found.length >= query.limit || budget.isUsedUp) {
      next = cursorOf(slice.first)
      isComplete = found.length >= query.limit
      break
    }
    // If a segment has no matching users, the next statement reads more segments.
    if (found.length === 0) segments = Math.min(MAX_SEGMENTS, segments * 2)
    last = slice.first - 1
  }
  found.sort((a, b) => b.lastSeq - a.lastSeq)
  // A segment may have thousands of users, and each takes time. Those that are left out come on the next page. But not in a
  // search: its users may be listed by traits that are older than the page.
  const users = query.q === '' ? found.slice(0, query.limit) : found
  if (users.length < found.length) next = cursorOf(users.at(-1)?.lastSeq ?? 1)
  return { users: yield* entriesOf(context, users), next, isComplete }
}

/** For anonymousIds, selects only events without a userId: an event with both ids counts for the userId. */
function withoutUser(column: IdColumn): Sql {
  return raw(column === 'user_id' ? '' : 'AND user_id IS NULL')
}

function* usersIn(dialect: Dialect, column: IdColumn, slice: Bounds, q: string): Query<FoundUser[]> {
  const named = sql`${raw(column)} IS NOT NULL AND ${contains(dialect, column, q)}`
  const rows = yield* all<{ id: string; seq: number }>(
    sql`SELECT ${raw(column)} AS id, max(seq) AS seq FROM ${dialect.lookup(column, named, slice)} ${withoutUser(column)}
        GROUP BY ${raw(column)}`,
  )
  return rows.map(({ id, seq }) => ({ id, column, lastSeq: seq }))
}

/** Users with a userId and a text among their traits that contains `q`, in upper or lower case. */
function* usersByTraits(dialect: Dialect, slice: Bounds, q: string): Query<FoundUser[]> {
  if (q === '') return []
  const inJson = JSON.stringify(q).slice(1, -1)
  const rows = yield* all<{ seq: number }>(
    sql`SELECT seq FROM event WHERE ${dialect.within(slice)} AND kind = 'identify' AND reason IS NULL
          AND user_id IS NOT NULL AND ${contains(dialect, 'body', inJson)} ORDER BY seq DESC LIMIT ${MAX_IDENTIFIES}`,
  )
  const identifies = yield* recordsOf(
    { dialect },
    rows.map(({ seq }) => seq),
  )
  const wanted = q.toLowerCase()
  const isNamed = ({ traits }: Message) =>
    Object.values(Object(traits)).some(
      (value) => typeof value === 'string' && value.toLowerCase().includes(wanted),
    )
  const ids = new Set(
    identifies.flatMap(({ message, userId }) =>
      userId !== null && message !== null && isNamed(message) ? [userId] : [],
    ),
  )
  if (ids.size === 0) return []
  const theirs = dialect.lookup('user_id', dialect.equals('user_id', raw('ids.id')), dialect)
  const last = yield* all<{ id: string; seq: number }>(
    sql`SELECT id, (SELECT max(seq) FROM ${theirs}) AS seq FROM ${dialect.ids([...ids])}`,
  )
  return last.map(({ id, seq }) => ({ id, column: 'user_id', lastSeq: seq }))
}

/** The ids of users with events newer than this page (`seq > last`). */
function* activeAfter(
  dialect: Dialect,
  column: IdColumn,
  users: readonly FoundUser[],
  last: number,
): Query<Set<string>> {
  const ids = dialect.ids(users.map(({ id }) => id))
  const later = dialect.lookup(column, dialect.equals(column, raw('ids.id')), {
    first: last + 1,
    last: dialect.last,
  })
  const rows = yield* all<{ id: string }>(
    sql`SELECT id FROM ${ids} WHERE EXISTS (SELECT 1 FROM ${later} ${withoutUser(column)})`,
  )
  return new Set(rows.map(({ id }) => id))
}

function* entriesOf({ dialect, budget }: QueryContext, users: readonly FoundUser[]): Query<UserEntry[]> {
  const entries: UserEntry[] = []
  for (let start = 0; start < users.length; start += IDS_PER_STATEMENT) {
    const part = users.slice(start, start + IDS_PER_STATEMENT)
    const times = yield* timesOf(dialect, part)
    const isLate = start > 0 && budget.isUsedUp
    const counts = isLate ? new Map<string, number>() : yield* countsOf(dialect, part)
    const people = isLate ? new Map<string, Person>() : yield* peopleOf(dialect, part, counts)
    for (const { id, column, lastSeq } of part) {
      const isUser = column === 'user_id'
      entries.push({
        id,
        userId: isUser ? id : null,
        anonymousId: isUser ? null : id,
        ...(people.get(`${column}${id}`) ?? { name: null, email: null }),
        count: counts.get(`${column}${id}`) ?? null,
        lastSeen: new Date(times.get(lastSeq) ?? 0).toISOString(),
      })
    }
  }
  return entries
}

function* timesOf(dialect: Dialect, users: readonly FoundUser[]): Query<Map<number, number>> {
  const rows = yield* all<{ seq: number; at: number }>(
    sql`SELECT seq, received_at AS at FROM event WHERE ${dialect.among(users.map(({ lastSeq }) => lastSeq))}`,
  )
  return new Map(rows.map(({ seq, at }) => [seq, at]))
}

/** `event where ...`: the events of these ids, joined with a table `ids`. */
function eventsOf(dialect: Dialect, column: IdColumn, ids: readonly string[]): Sql {
  const same = dialect.equals(column, raw('ids.id'))
  return sql`${dialect.lookup(column, same, dialect, dialect.ids(ids))} ${withoutUser(column)}`
}

function idsIn(users: readonly FoundUser[], column: IdColumn): string[] {
  return users.filter((user) => user.column === column).map(({ id }) => id)
}

function* countsOf(dialect: Dialect, users: readonly FoundUser[]): Query<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const column of COLUMNS) {
    const ids = idsIn(users, column)
    if (ids.length === 0) continue
    const rows = yield* all<{ id: string; count: number }>(
      sql`SELECT id, count(*) AS count FROM ${eventsOf(dialect, column, ids)} GROUP BY id`,
    )
    for (const { id, count } of rows) counts.set(`${column}${id}`, count)
  }
  return counts
}

type Person = Pick<UserEntry, 'name' | 'email'>

/** The newest and the oldest `identify` of each user that are looked for. */
interface Identifies {
  id: string
  newest: number | null
  oldest: number | null
}

function* identifiesOf(
  dialect: Dialect,
  column: IdColumn,
  ids: readonly string[],
  isFew: (id: string) => boolean,
): Query<Identifies[]> {
  const few = ids.filter(isFew)
  const many = ids.filter((id) => !isFew(id))
  const found: Identifies[] = []
  const isIdentify = sql`kind = 'identify' AND reason IS NULL`
  if (few.length > 0) {
    const rows = yield* all<Identifies>(
      sql`SELECT id, max(seq) AS newest, min(seq) AS oldest FROM ${eventsOf(dialect, column, few)} AND ${isIdentify} GROUP BY id`,
    )
    found.push(...rows)
  }
  if (many.length > 0) {
    const some = (direction: string, limit: number) =>
      sql`SELECT seq FROM (SELECT seq FROM ${dialect.lookup(column, dialect.equals(column, raw('ids.id')), dialect)}
            ${withoutUser(column)} ORDER BY seq ${raw(direction)} LIMIT ${limit}) AS few`
    const rows = yield* all<{ id: string; ends: string | null }>(
      // Both as one text, so that the events of a user are looked up once.
      sql`SELECT id, (SELECT CAST(max(event.seq) AS text) || ' ' || CAST(min(event.seq) AS text) FROM event
            WHERE event.seq IN (${some('DESC', NEWEST_READ)} UNION ${some('ASC', OLDEST_READ)}) AND ${isIdentify}) AS ends
          FROM ${dialect.ids(many)}`,
    )
    for (const { id, ends } of rows) {
      const [newest = null, oldest = null] = ends?.split(' ').map(Number) ?? []
      found.push({ id, newest, oldest })
    }
  }
  return found
}

/** From the newest `identify` of each user; what it lacks comes from the first one. */
function* peopleOf(
  dialect: Dialect,
  users: readonly FoundUser[],
  counts: ReadonlyMap<string, number>,
): Query<Map<string, Person>> {
  const found: Array<{ key: string; seqs: number[] }> = []
  for (const column of COLUMNS) {
    const isFew = (id: string) => (counts.get(`${column}${id}`) ?? 0) <= NEWEST_READ + OLDEST_READ
    for (const { id, newest, oldest } of yield* identifiesOf(dialect, column, idsIn(users, column), isFew)) {
      if (newest !== null && oldest !== null)
        found.push({ key: `${column}${id}`, seqs: [...new Set([newest, oldest])] })
    }
  }
  const records = yield* recordsOf(
    { dialect },
    found.flatMap(({ seqs }) => seqs),
  )
  const bySeq = new Map(records.map(({ seq, message }) => [seq, message]))
  return new Map(
    found.map(({ key, seqs }) => {
      const first = (trait: string) => seqs.map((seq) => traitOf(bySeq.get(seq), trait)).find(Boolean) ?? null
      return [key, { name: first('name'), email: first('email') }]
    }),
  )
}

const MAX_TRAIT = 200

function traitOf(message: Message | null | undefined, trait: string): string | undefined {
  const value = (Object(message?.['traits']) as Record<string, unknown>)[trait]
  return typeof value === 'string' && value.trim() !== '' ? value.slice(0, MAX_TRAIT) : undefined
}
