import type { Database, SqlValue } from './database.ts'

// One statement for many rows: crossing into the native library costs more than the row itself.
const ROWS_PER_STATEMENT = 25

/** Inserts any number of rows, most of them by the statement for many. */
export class RowInsert {
  readonly #database: Database
  readonly #sql: (rows: number) => string

  constructor(database: Database, table: string, columns: number, conflict = '') {
    this.#database = database
    const row = `(${Array(columns).fill('?').join(',')})`
    const head = `INSERT INTO ${table} VALUES `
    const [one, many] = [1, ROWS_PER_STATEMENT].map(
      (rows) => `${head}${Array(rows).fill(row).join(',')} ${conflict}`,
    )
    this.#sql = (rows) => (rows === 1 ? one : many) as string
  }

  /** Returns how many rows were added or replaced. */
  run(rows: readonly SqlValue[][]): number {
    let changes = 0
    let next = 0
    if (rows.length >= ROWS_PER_STATEMENT) {
      const many = this.#database.statement(this.#sql(ROWS_PER_STATEMENT))
      for (; next + ROWS_PER_STATEMENT <= rows.length; next += ROWS_PER_STATEMENT) {
        changes += many.run(rows.slice(next, next + ROWS_PER_STATEMENT).flat()).changes
      }
    }
    if (next === rows.length) return changes
    const one = this.#database.statement(this.#sql(1))
    for (; next < rows.length; next++) changes += one.run(rows[next]).changes
    return changes
  }
}

/** Adds up counts by key, and writes them with one statement for each key. */
export class Counts {
  readonly #database: Database
  readonly #sql: string
  #byKey = new Map<string, { key: SqlValue[]; count: number }>()

  constructor(database: Database, table: string, keys: readonly string[]) {
    this.#database = database
    this.#sql = `INSERT INTO ${table} VALUES (${Array(keys.length + 1)
      .fill('?')
      .join(',')}) ON CONFLICT (${keys.join(',')}) DO UPDATE SET count = count + excluded.count`
  }

  add(key: SqlValue[], count = 1): void {
    const text = key.join('\u0000')
    const known = this.#byKey.get(text)
    if (known === undefined) this.#byKey.set(text, { key, count })
    else known.count += count
  }

  /** Writes what was added up since the last time. */
  flush(): void {
    const all = this.#byKey
    if (all.size === 0) return
    this.#byKey = new Map()
    const statement = this.#database.statement(this.#sql)
    for (const { key, count } of all.values()) if (count !== 0) statement.run(...key, count)
  }

  /** Forgets what was not written: the transaction has failed. */
  discard(): void {
    this.#byKey.clear()
  }
}
