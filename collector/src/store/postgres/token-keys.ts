import type { KeptText, TokenKeyStore } from '../ports.ts'
import type { Database } from './database.ts'

/** The row of these keys; the table may hold more one day. */
const NAME = 'token keys'

/** The keys of tokens, for all processes on one database. A text is its own version. */
export class TokenKeys implements TokenKeyStore {
  readonly #database: Pick<Database, 'query'>

  constructor(database: Pick<Database, 'query'>) {
    this.#database = database
  }

  // Not from the connections for reading: what they see may be older, where they lead to a copy.
  async read(): Promise<KeptText | undefined> {
    const [row] = await this.#database.query<{ value: string }>(
      'SELECT value FROM kept_value WHERE name = $1',
      [NAME],
    )
    return row === undefined ? undefined : { text: row.value, version: row.value }
  }

  async replace(version: string | undefined, text: string): Promise<string | undefined> {
    const rows =
      version === undefined
        ? await this.#database.query(
            'INSERT INTO kept_value (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1',
            [NAME, text],
          )
        : await this.#database.query(
            'UPDATE kept_value SET value = $2 WHERE name = $1 AND value = $3 RETURNING 1',
            [NAME, text, version],
          )
    return rows.length === 1 ? text : undefined
  }
}
