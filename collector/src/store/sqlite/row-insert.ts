import { type CountTable, TABLES } from '../tables.ts'
import type { Database, SqlValue } from './database.ts'

/** Numbers of rows in one statement. A call of the native library for each row would be expensive. */
const SIZES = [25, 5, 1] as const
/** Beyond this number of prepared statements, new statements bind every value of every row. */
const MAX_SHAPES = 40

/**
 * Binding a value costs about as much as storing it. So if a column has the same value in all rows of a statement, the value is
 * bound once.
 */
export class RowInsert {
  readonly #database: Database
  readonly #head: string
  readonly #columns: number
  readonly #conflict: string
  /** Statements by number of rows (lowest 5 bits) and by the columns with a shared value (one bit for each column). */
  readonly #statements = new Map<number, string>()

  constructor(database: Database, table: string, columns: readonly string[], conflict = '') {
    this.#database = database
    this.#head = `INSERT INTO ${table} (${columns.join(', ')}) VALUES `
    this.#columns = columns.length
    this.#conflict = conflict
  }

  /** Returns how many rows were added or updated. */
  run(rows: readonly SqlValue[][]): number {
    let changes = 0
    for (let start = 0; start < rows.length; ) {
      const size = SIZES.find((size) => start + size <= rows.length) ?? 1
      changes += this.#insert(rows.slice(start, start + size))
      start += size
    }
    return changes
  }

  #insert(rows: readonly SqlValue[][]): number {
    const [first = []] = rows
    if (rows.length === 1) return this.#database.statement(this.#sql(1, 0)).run(first).changes
    let shared = 0
    for (let column = 0; column < first.length; column++) {
      const value = first[column]
      if (rows.every((row) => row[column] === value)) shared |= 1 << column
    }
    const key = shared * 32 + rows.length
    if (!this.#statements.has(key) && this.#statements.size >= MAX_SHAPES) shared = 0
    const values = first.filter((_, column) => shared & (1 << column))
    for (const row of rows) {
      for (let column = 0; column < row.length; column++) {
        if (!(shared & (1 << column))) values.push(row[column] as SqlValue)
      }
    }
    return this.#database.statement(this.#sql(rows.length, shared)).run(values).changes
  }

  /** The values of shared columns are bound first, in the order of the columns. */
  #sql(size: number, shared: number): string {
    const key = shared * 32 + size
    const known = this.#statements.get(key)
    if (known !== undefined) return known
    const columns = Array.from({ length: this.#columns }, (_, column) => column)
    const common = columns.filter((column) => shared & (1 << column))
    let next = common.length
    const rows = Array.from({ length: size }, () => {
      const values = columns.map((column) => {
        const place = common.indexOf(column)
        if (place >= 0) return `?${place + 1}`
        next++
        return `?${next}`
      })
      return `(${values.join(',')})`
    })
    const sql = `${this.#head}${rows.join(',')} ${this.#conflict}`
    this.#statements.set(key, sql)
    return sql
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

export class Counts {
  readonly #database: Database
  readonly #sql: string
  #byKey = new Map<string, Counted>()
  #last: Counted | undefined

  constructor(database: Database, table: CountTable) {
    this.#database = database
    const keys = TABLES[table].key
    this.#sql = `INSERT INTO ${table} VALUES (${Array(keys.length + 1)
      .fill('?')
      .join(',')}) ON CONFLICT (${keys.join(',')}) DO UPDATE SET count = count + excluded.count`
  }

  add(key: SqlValue[], count = 1): void {
    const last = this.#last
    // Usually the key is the same as in the call before, because events of one kind arrive together.
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

  flush(): void {
    const all = this.#byKey
    if (all.size === 0) return
    this.discard()
    const statement = this.#database.statement(this.#sql)
    for (const { key, count } of all.values()) if (count !== 0) statement.run(...key, count)
  }

  discard(): void {
    this.#byKey = new Map()
    this.#last = undefined
  }
}
