/** Lists are possible only in PostgreSQL. */
export type SqlValue = string | number | null | readonly (string | number | null)[]

/** A statement or a part of one, with a `?` for each value. */
export interface Sql {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** A template tag for SQL: an interpolated `Sql` becomes part of the text, and any other value becomes a bound value. */
export function sql(texts: TemplateStringsArray, ...parts: ReadonlyArray<SqlValue | Sql>): Sql {
  let text = texts[0] ?? ''
  const values: SqlValue[] = []
  for (const [index, part] of parts.entries()) {
    if (isSql(part)) {
      text += part.sql
      values.push(...part.values)
    } else {
      text += '?'
      values.push(part)
    }
    text += texts[index + 1] ?? ''
  }
  return { sql: text, values }
}

/** Not escaped. Must never contain data that a client sent. */
export function raw(text: string): Sql {
  return { sql: text, values: [] }
}

function isSql(part: SqlValue | Sql): part is Sql {
  return typeof part === 'object' && part !== null && 'sql' in part
}

/**
 * A query as a generator that yields each statement and is resumed with the rows of that statement. During long computations
 * between statements, it yields undefined, so that other work can run.
 *
 * The same generator can run synchronously, in turns with other queries on a shared thread, or on a connection to a server.
 */
export type Query<T> = Generator<Sql | undefined, T, readonly unknown[]>

export function* all<R>(statement: Sql): Query<R[]> {
  return (yield statement) as R[]
}

export function* first<R>(statement: Sql): Query<R | undefined> {
  return ((yield statement) as R[])[0]
}
