import type { Database } from './database.ts'

/** Ids that are looked up again and again; the others are in the table. */
const MAX_CACHED = 50_000

/**
 * Knows to which person an id belongs. A person is listed under a userId, or under an anonymousId that was seen with no user.
 *
 * An anonymousId belongs to the first user with whom it was seen, also its earlier events. An `alias` moves all events of its
 * previousId to its userId.
 */
export class Persons {
  readonly #database: Database
  readonly #cache = new Map<string, string | null>()

  constructor(database: Database) {
    this.#database = database
  }

  /** Forgets what a transaction that was rolled back has written. */
  forget(): void {
    this.#cache.clear()
  }

  /** @param isAccepted Only accepted events say to whom an id belongs. */
  personOf(userId: string | null, anonymousId: string | null, isAccepted: boolean): string | null {
    if (userId === null) return anonymousId === null ? null : this.#anonymous(anonymousId)
    const person = this.#user(userId)
    if (isAccepted && anonymousId !== null && this.#owner(`a:${anonymousId}`) === null) {
      this.#own(`a:${anonymousId}`, person)
      // Nobody has owned this id, so its events are listed under it.
      const take = 'UPDATE event SET person = ? WHERE person = ? AND anonymousId = ? AND userId IS NULL'
      this.#database.runText(take, person, anonymousId, anonymousId)
    }
    return person
  }

  alias(userId: string, previousId: string): void {
    const person = this.#user(userId)
    for (const before of new Set([this.#user(previousId), this.#anonymous(previousId)])) {
      if (before === person) continue
      this.#database.runText('UPDATE event SET person = ? WHERE person = ?', person, before)
      this.#database.runText('UPDATE owner SET person = ? WHERE person = ?', person, before)
      this.#cache.clear()
      for (const kind of ['u', 'a']) this.#own(`${kind}:${before}`, person)
    }
    for (const kind of ['u', 'a']) this.#own(`${kind}:${previousId}`, person)
  }

  /** The person under whom the events of an id are listed. */
  find(id: string): string {
    return this.#owner(`u:${id}`) ?? this.#owner(`a:${id}`) ?? id
  }

  #user(id: string): string {
    return this.#owner(`u:${id}`) ?? id
  }

  #anonymous(id: string): string {
    return this.#owner(`a:${id}`) ?? id
  }

  #owner(key: string): string | null {
    const known = this.#cache.get(key)
    if (known !== undefined) return known
    const found = this.#database.get<{ person: string }>({
      text: 'SELECT person FROM owner WHERE id = ?',
      values: [key],
    })
    this.#keep(key, found?.person ?? null)
    return found?.person ?? null
  }

  #own(key: string, person: string): void {
    if (key === `u:${person}`) return
    const write = 'INSERT INTO owner VALUES (?, ?) ON CONFLICT DO UPDATE SET person = excluded.person'
    this.#database.runText(write, key, person)
    this.#keep(key, person)
  }

  #keep(key: string, person: string | null): void {
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear()
    this.#cache.set(key, person)
  }
}
