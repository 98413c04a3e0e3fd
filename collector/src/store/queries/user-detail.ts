import { cursorOf, type InNumbers } from '../cursor.ts'
import type { Dialect, IdColumn, LookupColumn } from '../dialect.ts'
import type { QueryParameters } from '../event-reader.ts'
import type { TraitChange, UserDetail, UserLink } from '../query-results.ts'
import { all, first, type Query, raw, type Sql, sql } from '../sql.ts'
import { storedMessage } from '../stored-message.ts'
import type { QueryContext } from './context.ts'
import { receivedAtOf, summariesOf } from './records.ts'

/** The userIds and anonymousIds of one person together. */
const MAX_IDS = 50
const MAX_LINKS = 200
const MAX_HISTORY = 200
const ROWS_OF_TRAITS = 1000

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
  const rows = yield* all<{ seq: number }>(
    sql`SELECT seq FROM (${own}) AS own WHERE seq > ${query.after ?? 0} AND seq < ${query.before ?? Number.MAX_SAFE_INTEGER}
        ORDER BY seq ${direction} LIMIT ${query.limit + 1}`,
  )
  const shown = rows.slice(0, query.limit).map(({ seq }) => seq)
  const found = yield* traitsOf(context, identity)
  return {
    id: query.id,
    userIds: [...identity.users],
    anonymousIds: [...identity.anonymous],
    links: identity.links,
    firstSeen: yield* timeOf(context, whole.first),
    lastSeen: yield* timeOf(context, whole.last),
    count: whole.count,
    ...found.traits.result,
    events: yield* summariesOf(context, shown),
    next: rows.length > shown.length ? cursorOf(shown.at(-1) ?? 0) : null,
    isComplete: isComplete && found.isComplete,
  }
}

function* timeOf(context: QueryContext, seq: number): Query<string> {
  return new Date((yield* receivedAtOf(context, seq)) ?? 0).toISOString()
}

/** An event with an anonymousId of the person but the userId of another user is left out. */
function eventsOf(dialect: Dialect, { users, anonymous }: Identity, columns: string, after = 0): Sql {
  const bounds = { first: Math.max(dialect.first, after + 1), last: dialect.last }
  const found = (column: IdColumn, ids: Iterable<string>) =>
    sql`SELECT ${raw(columns)} FROM ${dialect.lookup(column, dialect.equals(column, raw('ids.id')), bounds, dialect.ids([...ids]))}`
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

function eventsWith(dialect: Dialect, column: LookupColumn, id: string): Sql {
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

function* traitsOf(
  { dialect, budget }: QueryContext,
  identity: Identity,
): Query<{ traits: Traits; isComplete: boolean }> {
  const traits = new Traits()
  for (let after = 0; ; ) {
    const own = eventsOf(dialect, identity, 'seq, kind, name, reason, received_at, body', after)
    const rows = yield* all<TraitsRow>(
      sql`SELECT seq, kind, name, received_at AS at, body FROM (${own}) AS own
          WHERE kind IN ('identify', 'group') AND reason IS NULL ORDER BY seq LIMIT ${ROWS_OF_TRAITS}`,
    )
    for (const row of rows) traits.add(row)
    after = rows.at(-1)?.seq ?? 0
    if (rows.length < ROWS_OF_TRAITS) return { traits, isComplete: true }
    if (budget.isUsedUp) return { traits, isComplete: false }
  }
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
  /** Grows while it is iterated. */
  readonly queue: Array<[column: IdColumn, id: string]> = []

  get isFull(): boolean {
    return this.users.size + this.anonymous.size >= MAX_IDS
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
    set.add(id)
    this.queue.push([column, id])
  }

  #link({ from, to, by, at, seq }: { from: string; to: string; by: string; at: number; seq: number }): void {
    const key = JSON.stringify([from, to])
    if (this.#known.has(key) || this.links.length >= MAX_LINKS) return
    this.#known.add(key)
    this.links.push({ from, to, by, at: new Date(at).toISOString(), eventId: String(seq) })
  }
}

interface TraitsRow {
  seq: number
  kind: string
  name: string | null
  at: number
  body: string
}

class Traits {
  readonly #traits = new Map<string, unknown>()
  readonly #history: UserDetail['traitHistory'] = []
  readonly #groups = new Map<string, UserDetail['groups'][number]>()

  /** Must be called with the oldest event first. */
  add({ seq, kind, name, at, body }: TraitsRow): void {
    const data = entriesOf(storedMessage(body)?.traits)
    const atText = new Date(at).toISOString()
    if (kind === 'group') {
      const groupId = name ?? ''
      this.#groups.set(groupId, { groupId, traits: Object.fromEntries(data), lastSeen: atText })
      return
    }
    const changes: TraitChange[] = []
    for (const [path, to] of data) {
      const from = this.#traits.get(path) ?? null
      if (JSON.stringify(from) !== JSON.stringify(to)) changes.push({ path, from, to })
      this.#traits.set(path, to)
    }
    if (changes.length > 0) this.#history.push({ at: atText, eventId: String(seq), changes })
  }

  get result(): Pick<UserDetail, 'traits' | 'traitHistory' | 'groups'> {
    return {
      traits: Object.fromEntries(this.#traits),
      traitHistory: this.#history.slice(-MAX_HISTORY),
      groups: [...this.#groups.values()],
    }
  }
}

function entriesOf(value: unknown): Array<[string, unknown]> {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}
