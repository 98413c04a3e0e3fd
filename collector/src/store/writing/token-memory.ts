import { createHash } from 'node:crypto'
import type { StepContext, StepRunner } from '../dialect.ts'
import type { AssertionMemory, KeptText, TokenKeyStore } from '../ports.ts'
import { first, type Query, sql } from '../sql.ts'

/** A longer `jti` is stored as its hash, because an index cannot contain long texts. */
const MAX_CHARACTERS = 200
/** An expired assertion is deleted only after this time, because it may still be valid by the clock of another process. */
const MAX_CLOCK_SKEW_MS = 3_600_000
const ROWS_PER_DELETE = 100

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

/** The text itself serves as its version. */
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
