import { createHash } from 'node:crypto'
import type { AssertionMemory } from '../ports.ts'
import type { Queryable } from './database.ts'

/** Longer ones are remembered by their hash: an index does not hold them. */
const MAX_CHARACTERS = 200

/** So far the clocks of processes may be apart: what has expired for one may be good for another. */
const CLOCKS_MS = 3_600_000

/** Whichever comes first inserts the row; one that has expired is as good as none. Those that expired long ago are deleted on the way. */
const USE = `
WITH expired AS (
  DELETE FROM assertion WHERE jti IN (
    SELECT jti FROM assertion WHERE expires_at < $3::bigint - ${CLOCKS_MS} AND jti <> $1 LIMIT 100 FOR UPDATE SKIP LOCKED)
)
INSERT INTO assertion (jti, expires_at) VALUES ($1, $2)
ON CONFLICT (jti) DO UPDATE SET expires_at = excluded.expires_at WHERE assertion.expires_at < $3
RETURNING 1`

/** Remembers client assertions for all processes on one database. */
export class Assertions implements AssertionMemory {
  readonly #database: Queryable

  constructor(database: Queryable) {
    this.#database = database
  }

  async use(jti: string, expiresAtMs: number, nowMs: number): Promise<boolean> {
    const key = jti.length <= MAX_CHARACTERS ? jti : createHash('sha256').update(jti).digest('hex')
    const rows = await this.#database.query(USE, [key, Math.ceil(expiresAtMs), Math.floor(nowMs)])
    return rows.length === 1
  }
}
