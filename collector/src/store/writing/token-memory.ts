import { createHash } from 'node:crypto'
import type { StepContext, StepRunner } from '../dialect.ts'
import type { AssertionMemory, KeptText, TokenKeyStore } from '../ports.ts'
import { first, type Query, sql } from '../sql.ts'

/** Longer ids of assertions are stored as their hash: they would not fit into the index. */
const MAX_CHARACTERS = 200
/** The largest difference between the clocks of processes: an assertion that has expired for one may be valid for another. */
const MAX_CLOCK_SKEW_MS = 3_600_000
const ROWS_PER_DELETE = 100

/** Remembers client assertions for all processes on one database, and deletes those that expired long ago. */
export class Assertions implements AssertionMemory {
  readonly #runner: StepRunner

  constructor(runner: StepRunner) {
    this.#runner = runner
  }

  use(jti: string, expiresAtMs: number, nowMs: number): Promise<boolean> {
    const key = jti.length <= MAX_CHARACTERS ? jti : createHash('sha256').update(jti).digest('hex')
    return this.#runner.write((context) => use(context, key, Math.ceil(expiresAtMs), Math.floor(nowMs)))
  }
}

/** The first caller inserts the row; an expired row counts as absent. */
function* use({ dialect }: StepContext, key: string, expiresAtMs: number, nowMs: number): Query<boolean> {
  yield sql`DELETE FROM assertion WHERE jti IN (
    SELECT jti FROM assertion WHERE expires_at < ${nowMs - MAX_CLOCK_SKEW_MS} LIMIT ${ROWS_PER_DELETE} ${dialect.skipLocked})`
  const used = yield* first(
    sql`INSERT INTO assertion (jti, expires_at) VALUES (${key}, ${expiresAtMs})
        ON CONFLICT (jti) DO UPDATE SET expires_at = excluded.expires_at WHERE assertion.expires_at < ${nowMs}
        RETURNING 1 AS used`,
  )
  return used !== undefined
}

/** The keys that sign tokens, for all processes on one database. The text itself serves as the version. */
export class TokenKeys implements TokenKeyStore {
  readonly #runner: StepRunner

  constructor(runner: StepRunner) {
    this.#runner = runner
  }

  async read(): Promise<KeptText | undefined> {
    const row = await this.#runner.read(({ dialect: { keyValueTable, keyColumn, tokenKeys } }) =>
      first<{ value: string }>(sql`SELECT value FROM ${keyValueTable} WHERE ${keyColumn} = ${tokenKeys}`),
    )
    return row === undefined ? undefined : { text: row.value, version: row.value }
  }

  async replace(version: string | undefined, text: string): Promise<string | undefined> {
    const changed = await this.#runner.write(({ dialect: { keyValueTable, keyColumn, tokenKeys } }) =>
      first(
        version === undefined
          ? sql`INSERT INTO ${keyValueTable} (${keyColumn}, value) VALUES (${tokenKeys}, ${text}) ON CONFLICT DO NOTHING RETURNING 1 AS kept`
          : sql`UPDATE ${keyValueTable} SET value = ${text} WHERE ${keyColumn} = ${tokenKeys} AND value = ${version} RETURNING 1 AS kept`,
      ),
    )
    return changed === undefined ? undefined : text
  }
}
