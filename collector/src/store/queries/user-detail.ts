import { cursorOf, type InNumbers } from '../cursor.ts'
import type { Dialect, IdColumn } from '../dialect.ts'
import type { QueryParameters } from '../event-reader.ts'
import type { UserDetail, UserLink } from '../query-results.ts'
import { all, first, type Query, raw, type Sql, sql } from '../sql.ts'
import type { TextColumn } from '../tables.ts'
import type { QueryContext } from './context.ts'
import { receivedAtOf, summariesOf } from './records.ts'
import { ByteRoom, userTraits } from './user-traits.ts'

/** The userIds and anonymousIds of one person together. */
const MAX_IDS = 50
const MAX_LINKS = 200
/** Bytes of JSON of the ids, of the links, and of the events on a page. */
const MAX_ID_BYTES = 50_000
const MAX_LINK_BYTES = 100_000
const MAX_EVENT_BYTES = 200_000

export function* userDetail(
  context: QueryContext,
  query: InNumbers<QueryParameters<'user'>>,
): Query<UserDetail | null> {
  const { identity, isComplete } = yield* joinIds(context, query.id)
  const own = eventsOf(context.dialect, identity, 'seq')
  const whole = yield* first<{ first: number | null; last: number | null; count: number }>(
    sql`SELECT min(seq) AS first, max(seq) AS last, count(*) AS count FROM (${own}) AS own`,
  )
  if (whole === undefined || whole.first === null || whole.last === null) return null
  const direction = raw(query.order === 'newest' ? 'DESC' : 'ASC')
  const isByTimestamp = query.by === 'timestamp'
  const ordered = isByTimestamp ? eventsOf(context.dialect, identity, 'seq, timestamp') : own
  const order = isByTimestamp ? sql`timestamp ${direction}, seq ${direction}` : sql`seq ${direction}`
  const rows = yield* all<{ seq: number }>(
    sql`SELECT seq FROM (${ordered}) AS own WHERE seq > ${query.after ?? 0} AND seq < ${query.before ?? Number.MAX_SAFE_INTEGER}
        ORDER BY ${order} LIMIT ${query.limit + 1}`,
  )
  const shown = rows.slice(0, query.limit).map(({ seq }) => seq)
  const found = yield* userTraits(context, eventsOf(context.dialect, identity, 'seq, kind, reason'))
  const summaries = yield* summariesOf(context, shown)
  const room = new ByteRoom(MAX_EVENT_BYTES)
  // At least one, so that the next page is another.
  const events = summaries.filter((one, index) => room.take(one) || index === 0)
  const end = (events.length < summaries.length ? events.at(-1)?.seq : shown.at(-1)) ?? 0
  return {
    id: query.id,
    userIds: [...identity.users],
    anonymousIds: [...identity.anonymous],
    links: identity.links,
    firstSeen: yield* timeOf(context, whole.first),
    lastSeen: yield* timeOf(context, whole.last),
    count: whole.count,
    ...found.traits,
    events,
    next:
      !isByTimestamp && (rows.length > shown.length || events.length < summaries.length)
        ? cursorOf(end)
        : null,
    isComplete: isComplete && found.isComplete,
  }
}

function* timeOf(context: QueryContext, seq: number): Query<string> {
  return new Date((yield* receivedAtOf(context, seq)) ?? 0).toISOString()
}

/** An event with an anonymousId of the person but the userId of another user is left out. */
function eventsOf(dialect: Dialect, { users, anonymous }: Identity, columns: string): Sql {
  const found = (column: IdColumn, ids: Iterable<string>) =>
    sql`SELECT ${raw(columns)} FROM ${dialect.lookup(column, dialect.equals(column, raw('ids.id')), dialect, dialect.ids([...ids]))}`
  return sql`${found('user_id', users)} UNION ALL ${found('anonymous_id', anonymous)} AND user_id IS NULL`
}

/** Two ids are joined if one event has both, or if an `alias` event connects them. */
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

function eventsWith(dialect: Dialect, column: TextColumn, id: string): Sql {
  return dialect.lookup(column, dialect.equals(column, sql`${id}`), dialect)
}

/** An id that is not the userId of any event counts as an anonymousId. */
function* columnOf(dialect: Dialect, id: string): Query<IdColumn> {
  const row = yield* first(sql`SELECT seq FROM ${eventsWith(dialect, 'user_id', id)} LIMIT 1`)
  return row === undefined ? 'anonymous_id' : 'user_id'
}

/** For each id of the other column that occurs together with `id`, the first event with both ids. */
function* firstPairs(dialect: Dialect, column: IdColumn, id: string): Query<Pair[]> {
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

/** The previousId of an `alias` event is in the column `name`. */
function* aliasesOf(dialect: Dialect, id: string): Query<Alias[]> {
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

/** The first event with a pair of ids; see `firstPairs`. `found` is the id of the other column. */
interface Pair {
  seq: number
  at: number
  kind: string
  found: string
}

interface Alias {
  seq: number
  at: number
  userId: string
  previousId: string
}

class Identity {
  readonly users = new Set<string>()
  readonly anonymous = new Set<string>()
  readonly links: UserLink[] = []
  readonly #known = new Set<string>()
  readonly #idRoom = new ByteRoom(MAX_ID_BYTES)
  readonly #linkRoom = new ByteRoom(MAX_LINK_BYTES)
  #isFull = false
  /** Grows while it is iterated. */
  readonly queue: Array<[column: IdColumn, id: string]> = []

  get isFull(): boolean {
    return this.#isFull || this.users.size + this.anonymous.size >= MAX_IDS
  }

  addPairs(column: IdColumn, from: string, pairs: readonly Pair[]): void {
    const other = column === 'user_id' ? 'anonymous_id' : 'user_id'
    for (const { seq, at, kind, found } of pairs) {
      const [user, anonymous] = column === 'user_id' ? [from, found] : [found, from]
      this.#link({ from: anonymous, to: user, by: kind, at, seq })
      this.join(other, found)
    }
  }

  addAlias({ seq, at, userId, previousId }: Alias): void {
    this.#link({ from: previousId, to: userId, by: 'alias', at, seq })
  }

  join(column: IdColumn, id: string): void {
    const set = column === 'user_id' ? this.users : this.anonymous
    if (set.has(id) || this.isFull) return
    this.#isFull = !this.#idRoom.take(id)
    if (this.#isFull) return
    set.add(id)
    this.queue.push([column, id])
  }

  #link({ from, to, by, at, seq }: { from: string; to: string; by: string; at: number; seq: number }): void {
    const key = JSON.stringify([from, to])
    if (this.#known.has(key) || this.links.length >= MAX_LINKS) return
    this.#known.add(key)
    const link = { from, to, by, at: new Date(at).toISOString(), eventId: String(seq) }
    if (this.#linkRoom.take(link)) this.links.push(link)
  }
}
