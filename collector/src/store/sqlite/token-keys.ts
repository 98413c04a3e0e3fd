import type { KeptText, TokenKeyStore } from '../ports.ts'
import type { Database } from './database.ts'

const KEY = 'token_keys'

/** The keys of tokens, beside the tables. A text is its own version. */
export class TokenKeys implements TokenKeyStore {
  readonly #database: Database
  readonly #requirePlace: () => void

  /** @param requirePlace Throws when the file is not there any more: what is written then is lost. */
  constructor(database: Database, requirePlace: () => void) {
    this.#database = database
    this.#requirePlace = requirePlace
  }

  async read(): Promise<KeptText | undefined> {
    const text = this.kept()
    return text === undefined ? undefined : { text, version: text }
  }

  async replace(version: string | undefined, text: string): Promise<string | undefined> {
    this.#requirePlace()
    return this.keep(version, text) ? text : undefined
  }

  kept(): string | undefined {
    return this.#database.get<{ value: string }>('SELECT value FROM meta WHERE key = ?', KEY)?.value
  }

  /** Whether it was kept: what is there has been the text before. */
  keep(before: string | undefined, text: string): boolean {
    const changed =
      before === undefined
        ? this.#database.run('INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING', KEY, text)
        : this.#database.run('UPDATE meta SET value = ? WHERE key = ? AND value = ?', text, KEY, before)
    return changed === 1
  }
}
