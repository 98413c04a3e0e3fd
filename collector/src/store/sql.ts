/** A value of a statement; a list only in dialects that support it. */
export type SqlValue = string | number | null | readonly (string | number | null)[]

/** A statement or a part of one, with a `?` for each value. */
export interface Sql {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** A template for SQL: interpolated `Sql` becomes part of the text, anything else a bound value. */
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

/** SQL text such as names and keywords; never data that a client sent. */
export function raw(text: string): Sql {
  return { sql: text, values: [] }
}

function isSql(part: SqlValue | Sql): part is Sql {
  return typeof part === 'object' && part !== null && 'sql' in part
}

/**
 * The steps of a query: a generator that yields each statement and is resumed with its rows. It yields undefined after long
 * work between statements, so that other work can run.
 *
 * So a query is written once, and can run synchronously, in turns with others on a shared thread, or on a connection to a
 * server.
 */
export type Query<T> = Generator<Sql | undefined, T, readonly unknown[]>

/** All rows of a statement. */
export function* all<R>(statement: Sql): Query<R[]> {
  return (yield statement) as R[]
}

/** The first row of a statement, if there is one. */
export function* first<R>(statement: Sql): Query<R | undefined> {
  return ((yield statement) as R[])[0]
}
