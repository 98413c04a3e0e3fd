/** A value of a statement; a list only where a dialect takes one. */
export type SqlValue = string | number | null | readonly (string | number | null)[]

/** A part of a statement, or a whole one: a `?` for each of its values. */
export interface Sql {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** Writes SQL: a part that is SQL itself becomes part of the text, anything else a value. */
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

/** Names and key words that the statement depends on; never anything that was sent. */
export function raw(text: string): Sql {
  return { sql: text, values: [] }
}

function isSql(part: SqlValue | Sql): part is Sql {
  return typeof part === 'object' && part !== null && 'sql' in part
}

/**
 * A question in steps: it yields each statement that it needs, and goes on with the rows; undefined where it has worked for long and may be
 * interrupted.
 *
 * So it is written once, and runs to its end at once for a caller that waits for it, in turns with others where many share a thread, and
 * on the connection of a server.
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
