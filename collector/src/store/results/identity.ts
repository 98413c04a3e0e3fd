import type { UserLink } from '../query-results.ts'

/** Ids of one person that are followed at most. */
export const MAX_IDS = 50
const MAX_LINKS = 200

export type IdColumn = 'user_id' | 'anonymous_id'

/** The first event that carried two ids. */
export interface Pair {
  seq: number
  at: number
  kind: string
  found: string
}

/** An event that makes two ids one. */
export interface Alias {
  seq: number
  at: number
  userId: string
  previousId: string
}

/** Ids that belong to one person, and what joined them; filled while they are followed. */
export class Identity {
  readonly users = new Set<string>()
  readonly anonymous = new Set<string>()
  readonly links: UserLink[] = []
  readonly #known = new Set<string>()
  /** The list of ids to follow grows while it is followed. */
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

  /** Adds an id, to be followed as well, unless it is there or there are too many. */
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
