import { escapeForStore } from '../escape.ts'
import { isInherited } from '../inherited.ts'
import { anywhere } from '../search/condition.ts'
import type { Dialect, PathValue } from '../search/dialect.ts'
import { raw, type Sql, sql } from '../sql.ts'

/** The conditions for SQLite. */
export const SQLITE: Dialect = {
  text: (column, operator, text) => sql`${raw(`${column} ${operator}`)} ${escapeForStore(text)}`,
  hasText: (column) => raw(`coalesce(${column}, '') <> ''`),
  number: (column, operator, number) => sql`${raw(`${column} ${operator}`)} ${number}`,
  begins: (column, text) => begins(raw(column), escapeForStore(text)),
  contains: (column, text) => sql`${raw(column)} LIKE ${anywhere(escapeForStore(text))} ESCAPE '\\'`,
  inheritedContains: (text, { first, last }) =>
    // Evaluated once for a slice: an event refers to a row within its slice, or to the last one before it.
    sql`event.inherited IN (SELECT seq FROM inherited
          WHERE seq BETWEEN coalesce((SELECT max(seq) FROM inherited WHERE seq <= ${first}), 0) AND ${last}
            AND body LIKE ${anywhere(escapeForStore(text))} ESCAPE '\\')`,
  at(path) {
    const message = isInherited(path[0]) ? holderOf(path) : raw('body')
    return jsonPaths(path).map((at) => valueAt(message, at))
  },
  delivery: (condition, { first, last }) =>
    sql`seq IN (SELECT seq FROM delivery WHERE seq BETWEEN ${first} AND ${last} AND ${condition})`,
}

function begins(expression: Sql, text: string): Sql {
  return sql`substr(${expression}, 1, ${raw(String([...text].length))}) = ${text}`
}

/**
 * The text in which a path is looked up that may lead into inherited fields: the object that has the second key has everything
 * below it.
 */
function holderOf(path: readonly string[]): Sql {
  const labels = path.slice(0, 2).map((key) => `.${label(key)}`)
  return sql`CASE WHEN event.inherited IS NULL OR json_type(body, ${`$${labels.join('')}`}) IS NOT NULL THEN body
      ELSE (SELECT handed.body FROM inherited AS handed WHERE handed.seq = event.inherited) END`
}

function valueAt(message: Sql, path: string): PathValue {
  const type = sql`json_type(${message}, ${path})`
  const value = sql`json_extract(${message}, ${path})`
  return {
    exists: sql`${type} IS NOT NULL`,
    text: (operator, text) => sql`(${type} = 'text' AND ${value} ${raw(operator)} ${text})`,
    begins: (text) => sql`(${type} = 'text' AND ${begins(value, text)})`,
    number: (operator, number) =>
      sql`(${type} IN ('integer', 'real') AND ${value} ${raw(operator)} ${number})`,
    is: (literal) => sql`${type} = ${literal}`,
  }
}

/**
 * Up to this many whole numbers in a path are tried both as indexes of arrays and as keys; if there are more, all are indexes.
 */
const MAX_UNCLEAR = 3

/** The meanings of a path, as SQLite writes them. */
function jsonPaths(keys: readonly string[]): string[] {
  let paths = ['$']
  let unclear = 0
  for (const key of keys) {
    const isPlace = /^\d{1,6}$/.test(key)
    if (isPlace) unclear++
    const steps = isPlace ? [`[${key}]`] : []
    if (!isPlace || unclear <= MAX_UNCLEAR) steps.push(`.${label(key)}`)
    paths = paths.flatMap((path) => steps.map((step) => path + step))
  }
  return paths
}

/** A key as SQLite reads it in a path: with the escapes of JSON, except for quotes, which would end it. */
function label(key: string): string {
  return `"${JSON.stringify(key).slice(1, -1).replaceAll('\\"', '\\u0022')}"`
}
