import type { Database, SqlValue } from './database.ts'

// One statement for many rows: crossing into the native library costs more than the row itself.
const ROWS_PER_STATEMENT = 25

/** Inserts any number of rows, most of them by the statement for many. */
export class RowInsert {
  readonly #database: Database
  readonly #sql: (rows: number) => string
  readonly #columns: number

  constructor(database: Database, table: string, columns: number, conflict = '') {
    this.#database = database
    this.#columns = columns
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
      const values: SqlValue[] = Array(ROWS_PER_STATEMENT * this.#columns).fill(null)
      for (; next + ROWS_PER_STATEMENT <= rows.length; next += ROWS_PER_STATEMENT) {
        // By hand: `flat()` adds the values one by one, by the slowest way there is.
        let at = 0
        for (let index = next; index < next + ROWS_PER_STATEMENT; index++) {
          for (const value of rows[index] as SqlValue[]) values[at++] = value
        }
        changes += many.run(values).changes
      }
    }
    if (next === rows.length) return changes
    const one = this.#database.statement(this.#sql(1))
    for (; next < rows.length; next++) changes += one.run(rows[next]).changes
    return changes
  }
}

interface Counted {
  key: SqlValue[]
  count: number
}

function isSame(one: readonly SqlValue[], other: readonly SqlValue[]): boolean {
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false
  return true
}

/** Adds up counts by key, and writes them with one statement for each key. */
export class Counts {
  readonly #database: Database
  readonly #sql: string
  #byKey = new Map<string, Counted>()
  #last: Counted | undefined

  constructor(database: Database, table: string, keys: readonly string[]) {
    this.#database = database
    this.#sql = `INSERT INTO ${table} VALUES (${Array(keys.length + 1)
      .fill('?')
      .join(',')}) ON CONFLICT (${keys.join(',')}) DO UPDATE SET count = count + excluded.count`
  }

  add(key: SqlValue[], count = 1): void {
    const last = this.#last
    // Mostly the same as before: events of a kind come in a row.
    const counted = last !== undefined && isSame(last.key, key) ? last : this.#counted(key)
    counted.count += count
    this.#last = counted
  }

  #counted(key: SqlValue[]): Counted {
    const text = key.join('\u0000')
    const known = this.#byKey.get(text)
    if (known !== undefined) return known
    const counted = { key, count: 0 }
    this.#byKey.set(text, counted)
    return counted
  }

  /** Writes what was added up since the last time. */
  flush(): void {
    const all = this.#byKey
    if (all.size === 0) return
    this.discard()
    const statement = this.#database.statement(this.#sql)
    for (const { key, count } of all.values()) if (count !== 0) statement.run(...key, count)
  }

  /** Forgets what was added up. */
  discard(): void {
    this.#byKey = new Map()
    this.#last = undefined
  }
}
