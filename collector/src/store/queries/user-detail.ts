import { type Cursor, timeAndSeqOf, timeCursorOf } from '../cursor.ts'
import { raw, type Sql, sql } from '../sql.ts'
import { storedMessage } from '../stored-message.ts'
import type { QueryContext } from './context.ts'
import { type Paging, summariesOf } from './events.ts'

const MAX_IDS = 50
const MAX_LINKS = 200
/** Events that set traits, of which the newest are read. */
const MAX_SETTERS = 1000
const MAX_TRAITS = 1000
const MAX_GROUPS = 200
const MAX_CHANGES = 1000

export interface UserQuery extends Omit<Paging, 'cursor'> {
  id: string
  /** The time by which the events are ordered; default: that of receipt. */
  by?: 'receipt' | 'timestamp' | undefined
  cursor?: Cursor | undefined
}

export function userDetail(context: QueryContext, query: UserQuery) {
  const { database, persons } = context
  const person = persons.find(query.id)
  const whole = database.get<{ first: number | null; last: number | null; count: number }>(
    sql`SELECT min(received_at) AS first, max(received_at) AS last, count(*) AS count FROM event WHERE person = ${person}`,
  )
  if (whole === undefined || whole.first === null || whole.last === null) return null
  const ids = (column: 'userId' | 'anonymousId') =>
    database
      .all<{ id: string }>(
        sql`SELECT DISTINCT ${raw(column)} AS id FROM event WHERE person = ${person} AND ${raw(column)} IS NOT NULL LIMIT ${MAX_IDS}`,
      )
      .map(({ id }) => id)
  return {
    id: query.id,
    userIds: ids('userId'),
    anonymousIds: ids('anonymousId'),
    links: linksOf(context, person),
    firstSeen: new Date(whole.first).toISOString(),
    lastSeen: new Date(whole.last).toISOString(),
    count: whole.count,
    ...traitsOf(context, person),
    ...timelineOf(context, person, query),
  }
}

function timelineOf(
  context: QueryContext,
  person: string,
  { by = 'receipt', order, limit, cursor }: UserQuery,
) {
  const direction = raw(order === 'newest' ? 'DESC' : 'ASC')
  const side = raw(order === 'newest' ? '<' : '>')
  const isByTimestamp = by === 'timestamp'
  let start: Sql = raw('TRUE')
  if (cursor !== undefined && isByTimestamp) {
    const { timeMs, seq } = timeAndSeqOf(cursor)
    start = sql`(timestamp, seq) ${side} (${timeMs}, ${seq})`
  } else if (cursor !== undefined) start = sql`seq ${side} ${Number(cursor)}`
  const ordered = isByTimestamp ? sql`timestamp ${direction}, seq ${direction}` : sql`seq ${direction}`
  const rows = context.database.all<{ seq: number; timestamp: number }>(
    sql`SELECT seq, timestamp FROM event WHERE person = ${person} AND ${start} ORDER BY ${ordered} LIMIT ${limit + 1}`,
  )
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = rows.length > limit && last !== undefined
  return {
    events: summariesOf(
      context,
      shown.map(({ seq }) => seq),
    ),
    next: !hasMore ? null : isByTimestamp ? timeCursorOf(last.timestamp, last.seq) : String(last.seq),
  }
}

/** How the ids of a person are known to belong together: the first event with each pair. */
function linksOf({ database }: QueryContext, person: string) {
  const rows = database.all<{ from: string; to: string; by: string; at: number; seq: number }>(
    sql`SELECT "from", "to", "by", at, min(seq) AS seq FROM (
          SELECT anonymousId AS "from", userId AS "to", kind AS "by", received_at AS at, seq FROM event
            WHERE person = ${person} AND anonymousId IS NOT NULL AND userId IS NOT NULL AND reason IS NULL
          UNION ALL
          SELECT name, userId, 'alias', received_at, seq FROM event
            WHERE person = ${person} AND kind = 'alias' AND reason IS NULL AND name IS NOT NULL AND userId IS NOT NULL)
        GROUP BY "from", "to" ORDER BY seq LIMIT ${MAX_LINKS}`,
  )
  return rows.map(({ at, seq, ...link }) => ({
    ...link,
    at: new Date(at).toISOString(),
    eventId: String(seq),
  }))
}

interface Setter {
  seq: number
  kind: string
  name: string | null
  at: number
  body: string | null
}

type TraitHistory = Array<{
  at: string
  eventId: string
  changes: Array<{ path: string; from: unknown; to: unknown }>
}>

/** The traits, their changes and the groups of a person, the newest of each. */
function traitsOf({ database }: QueryContext, person: string) {
  const setters = database.all<Setter>(
    sql`SELECT seq, kind, name, received_at AS at, body FROM event
        WHERE person = ${person} AND kind IN ('identify', 'group') AND reason IS NULL ORDER BY seq DESC LIMIT ${MAX_SETTERS}`,
  )
  // In the order in which they were last set.
  const traits = new Map<string, unknown>()
  const groups = new Map<string, { groupId: string; traits: Record<string, unknown>; lastSeen: string }>()
  const history: TraitHistory = []
  for (const { seq, kind, name, at, body } of setters.reverse()) {
    const data = Object.entries(Object(storedMessage(body)?.traits)) as Array<[string, unknown]>
    const atText = new Date(at).toISOString()
    if (kind === 'group') {
      const groupId = name ?? ''
      moveToEnd(groups, groupId, { groupId, traits: Object.fromEntries(data), lastSeen: atText })
      continue
    }
    const changes: TraitHistory[number]['changes'] = []
    for (const [path, to] of data) {
      const from = traits.get(path) ?? null
      if (JSON.stringify(from) !== JSON.stringify(to)) changes.push({ path, from, to })
      moveToEnd(traits, path, to)
    }
    if (changes.length > 0) history.push({ at: atText, eventId: String(seq), changes })
  }
  const shown = newestChanges(history)
  return {
    traits: Object.fromEntries([...traits].slice(-MAX_TRAITS)),
    traitHistory: shown,
    groups: [...groups.values()].slice(-MAX_GROUPS),
    more: {
      traits: Math.max(0, traits.size - MAX_TRAITS),
      changes: changesIn(history) - changesIn(shown),
      groups: Math.max(0, groups.size - MAX_GROUPS),
    },
  }
}

/** The newest entries that have no more changes together than fit into an answer. */
function newestChanges(history: TraitHistory): TraitHistory {
  let start = history.length
  for (let left = MAX_CHANGES; start > 0; start--) {
    left -= history[start - 1]?.changes.length ?? 0
    if (left < 0) break
  }
  return history.slice(start)
}

function changesIn(history: TraitHistory): number {
  return history.reduce((sum, { changes }) => sum + changes.length, 0)
}

function moveToEnd<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
}
