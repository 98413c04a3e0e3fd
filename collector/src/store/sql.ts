export type SqlValue = string | number | null

/** A statement or a part of one, with a `?` for each value. */
export interface Sql {
  readonly text: string
  readonly values: readonly SqlValue[]
}

/** A template tag for SQL: an interpolated `Sql` becomes part of the text, and any other value becomes a bound value. */
export function sql(texts: TemplateStringsArray, ...parts: ReadonlyArray<SqlValue | Sql>): Sql {
  let text = texts[0] ?? ''
  const values: SqlValue[] = []
  for (const [index, part] of parts.entries()) {
    if (typeof part === 'object' && part !== null) {
      text += part.text
      values.push(...part.values)
    } else {
      text += '?'
      values.push(part)
    }
    text += texts[index + 1] ?? ''
  }
  return { text, values }
}

/** Not escaped. Must never contain data that a client sent. */
export function raw(text: string): Sql {
  return { text, values: [] }
}

export function allOf(parts: readonly Sql[]): Sql {
  return joined(parts, ' AND ', 'TRUE')
}

export function anyOf(parts: readonly Sql[]): Sql {
  return joined(parts, ' OR ', 'FALSE')
}

function joined(parts: readonly Sql[], by: string, none: string): Sql {
  if (parts.length === 0) return raw(none)
  if (parts.length === 1) return parts[0] as Sql
  return {
    text: `(${parts.map(({ text }) => text).join(by)})`,
    values: parts.flatMap(({ values }) => values),
  }
}

/** The rows with one of these numbers, however many. */
export function among(column: string, numbers: readonly number[]): Sql {
  return sql`${raw(column)} IN (SELECT value FROM json_each(${JSON.stringify(numbers)}))`
}

/** A range of times, milliseconds since the epoch, from `fromMs` (included) to `toMs` (excluded). */
export interface TimeRange {
  fromMs?: number | undefined
  toMs?: number | undefined
}

export function within(column: string, { fromMs, toMs }: TimeRange): Sql {
  const parts: Sql[] = []
  if (fromMs !== undefined) parts.push(sql`${raw(column)} >= ${fromMs}`)
  if (toMs !== undefined) parts.push(sql`${raw(column)} < ${toMs}`)
  return allOf(parts)
}
