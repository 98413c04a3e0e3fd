import type { AssertionMemory } from '../ports.ts'
import type { Database } from './database.ts'

/** A client assertion that was used. */
interface UsedAssertion {
  jti: string
  expires_at: number
}

const INSERT = 'INSERT INTO assertion (jti, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING'

/** Remembers client assertions for all processes on one file. Those that expired are deleted on the way: their life time bounds them. */
export class Assertions implements AssertionMemory {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async use(jti: string, expiresAtMs: number, nowMs: number): Promise<boolean> {
    this.#database.run('DELETE FROM assertion WHERE expires_at < ?', nowMs)
    return this.#database.run(INSERT, jti, expiresAtMs) === 1
  }

  /** All that are remembered: what a file that is begun anew has to know as well. */
  kept(): UsedAssertion[] {
    return this.#database.all<UsedAssertion>('SELECT * FROM assertion')
  }

  keep(used: readonly UsedAssertion[]): void {
    for (const { jti, expires_at } of used) this.#database.run(INSERT, jti, expires_at)
  }
}
