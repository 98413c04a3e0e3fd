import type { Message } from '../../../record.ts'
import type { TraitChange, UserDetail, UserLink } from '../../query-results.ts'
import type { Database, SqlValue } from '../database.ts'
import { cursorOf } from '../place.ts'
import { summariesOf } from '../records.ts'
import { SEGMENT_BITS, segmentOf } from '../schema.ts'
import { type Bounds, boundsOf, slices } from '../slices.ts'
import type { Work } from '../work.ts'
import type { QueryContext } from './context.ts'

const MAX_IDS = 50
const MAX_LINKS = 200
const MAX_HISTORY = 200

export interface UserQuery {
  id: string
  order: 'oldest' | 'newest'
  limit: number
  after?: number | undefined
  before?: number | undefined
}

type IdColumn = 'user_id' | 'anonymous_id'

/** Ids that belong to one person, and what joined them. */
interface Identity {
  users: Set<string>
  anonymous: Set<string>
  links: UserLink[]
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
  const identity: Identity = { users: new Set(), anonymous: new Set(), links: [] }
  if (isThere(database, 'user_id', id, bounds)) identity.users.add(id)
  else identity.anonymous.add(id)
  const queue: Array<[column: IdColumn, id: string]> = [
    [identity.users.size > 0 ? 'user_id' : 'anonymous_id', id],
  ]
  const known = new Set<string>()
  for (const [column, from] of queue) {
    const other = column === 'user_id' ? 'anonymous_id' : 'user_id'
    const pairs = firstPairs(database, column, from, other, bounds)
    for (const { seq, at, kind, found } of pairs) {
      const [user, anonymous] = column === 'user_id' ? [from, found] : [found, from]
      link(identity, known, { from: anonymous, to: user, by: kind, at, seq })
      if (join(identity, other, found)) queue.push([other, found])
    }
    yield
    for (const { seq, at, userId, previousId } of aliasesOf(database, from, bounds)) {
      link(identity, known, { from: previousId, to: userId, by: 'alias', at, seq })
      for (const one of [userId, previousId]) {
        const column = isThere(database, 'user_id', one, bounds) ? 'user_id' : 'anonymous_id'
        if (join(identity, column, one)) queue.push([column, one])
      }
    }
    yield
    if (identity.users.size + identity.anonymous.size >= MAX_IDS || budget.isUsedUp) break
  }
  return identity
}

function join(identity: Identity, column: IdColumn, id: string): boolean {
  const set = column === 'user_id' ? identity.users : identity.anonymous
  if (set.has(id) || identity.users.size + identity.anonymous.size >= MAX_IDS) return false
  set.add(id)
  return true
}

function link(
  identity: Identity,
  known: Set<string>,
  { from, to, by, at, seq }: { from: string; to: string; by: string; at: number; seq: number },
): void {
  const key = JSON.stringify([from, to])
  if (known.has(key) || identity.links.length >= MAX_LINKS) return
  known.add(key)
  identity.links.push({ from, to, by, at: new Date(at).toISOString(), eventId: String(seq) })
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
): Array<{ seq: number; at: number; kind: string; found: string }> {
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
function aliasesOf(
  database: Database,
  id: string,
  bounds: Bounds,
): Array<{ seq: number; at: number; userId: string; previousId: string }> {
  const select = 'seq, received_at AS at, user_id AS userId, name AS previousId'
  const rest = "AND kind = 'alias' AND reason IS NULL LIMIT ?"
  return [
    ...bySegment<{ seq: number; at: number; userId: string; previousId: string }>(
      database,
      bounds,
      'user_id',
      id,
      select,
      rest,
      MAX_IDS,
    ),
    ...bySegment<{ seq: number; at: number; userId: string; previousId: string }>(
      database,
      bounds,
      'name',
      id,
      select,
      rest,
      MAX_IDS,
    ),
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

/** The traits as identify set them one after another, and the groups. */
function* traitsOf(
  database: Database,
  seqs: readonly number[],
): Work<Pick<UserDetail, 'traits' | 'traitHistory' | 'groups'>> {
  const traits = new Map<string, unknown>()
  const traitHistory: UserDetail['traitHistory'] = []
  const groups = new Map<string, UserDetail['groups'][number]>()
  for (let start = 0; start < seqs.length; start += 500) {
    const part = seqs.slice(start, start + 500)
    const rows = database.all<{ seq: number; kind: string; name: string | null; at: number; body: string }>(
      `SELECT seq, kind, name, received_at AS at, body FROM event
       WHERE seq IN (SELECT value FROM json_each(?)) AND kind IN ('identify', 'group') AND reason IS NULL ORDER BY seq`,
      JSON.stringify(part),
    )
    for (const { seq, kind, name, at, body } of rows) {
      const data = entriesOf((JSON.parse(body) as Message).traits)
      const atText = new Date(at).toISOString()
      if (kind === 'group') {
        groups.set(name ?? '', { groupId: name ?? '', traits: Object.fromEntries(data), lastSeen: atText })
        continue
      }
      const changes: TraitChange[] = []
      for (const [path, to] of data) {
        const from = traits.get(path) ?? null
        if (JSON.stringify(from) !== JSON.stringify(to)) changes.push({ path, from, to })
        traits.set(path, to)
      }
      if (changes.length > 0) traitHistory.push({ at: atText, eventId: String(seq), changes })
    }
    yield
  }
  return {
    traits: Object.fromEntries(traits),
    traitHistory: traitHistory.slice(-MAX_HISTORY),
    groups: [...groups.values()],
  }
}

function entriesOf(value: unknown): Array<[string, unknown]> {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}
