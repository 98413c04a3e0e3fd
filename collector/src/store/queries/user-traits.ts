import type { TraitChange, UserDetail } from '../query-results.ts'
import { all, type Query, type Sql, sql } from '../sql.ts'
import { storedMessage } from '../stored-message.ts'
import type { QueryContext } from './context.ts'

const MAX_TRAITS = 1000
const MAX_GROUPS = 200
const MAX_HISTORY = 200
/** Bytes of JSON of the traits, of the groups, and of the changes. */
const MAX_BYTES = 200_000
/** Events that set traits, of which the newest are read. */
const MAX_EVENTS = 10_000
/** Characters of all messages that are read. */
const MAX_READ = 2 * 1024 * 1024
const ROWS_PER_STATEMENT = 50

interface TraitsRow {
  seq: number
  kind: string
  name: string | null
  at: number
  body: string
}

/** The traits, their changes and the groups of a user, the newest of each. */
export type UserTraits = Pick<UserDetail, 'traits' | 'traitHistory' | 'groups' | 'more'>

/**
 * Reads the newest events first, so that the current traits are found even if the time or the room is used up.
 *
 * @param own The events of the user, with the columns `seq`, `kind` and `reason`.
 */
export function* userTraits(
  { dialect, budget }: QueryContext,
  own: Sql,
): Query<{ traits: UserTraits; isComplete: boolean }> {
  const setters = yield* all<{ seq: number }>(
    sql`SELECT seq FROM (${own}) AS own WHERE kind IN ('identify', 'group') AND reason IS NULL
        ORDER BY seq DESC LIMIT ${MAX_EVENTS}`,
  )
  const seqs = setters.map(({ seq }) => seq)
  const rows: TraitsRow[] = []
  let start = 0
  let left = MAX_READ
  while (start < seqs.length && left > 0 && (start === 0 || !budget.isUsedUp)) {
    const found = yield* all<TraitsRow>(
      sql`SELECT seq, kind, name, received_at AS at, body FROM event
          WHERE ${dialect.among(seqs.slice(start, start + ROWS_PER_STATEMENT))} ORDER BY seq DESC`,
    )
    for (const row of found) {
      left -= row.body.length
      rows.push(row)
    }
    start += ROWS_PER_STATEMENT
  }
  const traits = new Traits()
  for (const row of rows.reverse()) {
    traits.add(row)
    yield
  }
  return { traits: traits.result, isComplete: start >= seqs.length && seqs.length < MAX_EVENTS }
}

class Traits {
  /** In the order in which they were last set. */
  readonly #traits = new Map<string, unknown>()
  readonly #history: UserDetail['traitHistory'] = []
  readonly #groups = new Map<string, UserDetail['groups'][number]>()

  /** Must be called with the oldest event first. */
  add({ seq, kind, name, at, body }: TraitsRow): void {
    const data = entriesOf(storedMessage(body)?.traits)
    const atText = new Date(at).toISOString()
    if (kind === 'group') {
      const groupId = name ?? ''
      moveToEnd(this.#groups, groupId, { groupId, traits: Object.fromEntries(data), lastSeen: atText })
      return
    }
    const changes: TraitChange[] = []
    for (const [path, to] of data) {
      const from = this.#traits.get(path) ?? null
      if (JSON.stringify(from) !== JSON.stringify(to)) changes.push({ path, from, to })
      moveToEnd(this.#traits, path, to)
    }
    if (changes.length > 0) this.#history.push({ at: atText, eventId: String(seq), changes })
  }

  get result(): UserTraits {
    const traits = newest([...this.#traits], MAX_TRAITS, new ByteRoom(MAX_BYTES))
    const groups = newest([...this.#groups.values()], MAX_GROUPS, new ByteRoom(MAX_BYTES))
    const room = new ByteRoom(MAX_BYTES)
    const history = this.#history
      .slice(-MAX_HISTORY)
      .reverse()
      .map((one) => ({ ...one, changes: newest(one.changes, Number.POSITIVE_INFINITY, room) }))
      .filter(({ changes }) => changes.length > 0)
      .reverse()
    return {
      traits: Object.fromEntries(traits),
      traitHistory: history,
      groups,
      more: {
        traits: this.#traits.size - traits.length,
        changes: changesIn(this.#history) - changesIn(history),
        groups: this.#groups.size - groups.length,
      },
    }
  }
}

function changesIn(history: UserDetail['traitHistory']): number {
  return history.reduce((sum, { changes }) => sum + changes.length, 0)
}

function moveToEnd<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
}

/** The last of the items that fit, in their order. */
function newest<T>(items: readonly T[], limit: number, room: ByteRoom): T[] {
  let start = items.length
  while (start > 0 && items.length - start < limit && room.take(items[start - 1])) start--
  return items.slice(start)
}

/** Limits the size of lists in an answer. */
export class ByteRoom {
  #left: number

  constructor(bytes: number) {
    this.#left = bytes
  }

  /** Returns false if the value does not fit as JSON, and for all values after that. */
  take(value: unknown): boolean {
    if (this.#left > 0) this.#left -= Buffer.byteLength(JSON.stringify(value) ?? '')
    return this.#left >= 0
  }
}

function entriesOf(value: unknown): Array<[string, unknown]> {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}
