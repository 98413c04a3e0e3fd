import { caseVariants, isPlace } from '../search/meanings.ts'
import { type Comparison, type Search, SearchSyntaxError, type Value } from '../search/syntax.ts'
import { parseTime } from '../search/time.ts'
import { allOf, anyOf, raw, type Sql, sql } from './sql.ts'

/** Converts the terms of a search to conditions on the rows of one table. */
export interface SearchedTable {
  text(text: string): Sql
  /** Never called with `!=`. */
  comparison(comparison: Comparison): Sql
  /** Comparisons with columns of a related table: if several are joined by `and`, a single row of it must satisfy them all. */
  together?: { has(part: Comparison): boolean; condition(parts: readonly Comparison[]): Sql }
}

/** @throws SearchSyntaxError when the search has an invalid value for a field. */
export function conditionOf(search: Search, table: SearchedTable): Sql {
  switch (search.kind) {
    case 'and': {
      const { together } = table
      const isJoint = (part: Search): part is Comparison =>
        part.kind === 'compare' && part.operator === '=' && together?.has(part) === true
      const joint = search.parts.filter(isJoint)
      const others = search.parts.filter((part) => !isJoint(part)).map((part) => conditionOf(part, table))
      return allOf(
        together === undefined || joint.length === 0 ? others : [...others, together.condition(joint)],
      )
    }
    case 'or':
      return anyOf(search.parts.map((part) => conditionOf(part, table)))
    case 'not':
      // For a missing field, the condition is null. `is not true` makes the negation true then.
      return sql`(${conditionOf(search.part, table)}) IS NOT TRUE`
    case 'text':
      return table.text(search.text)
    case 'compare': {
      if (search.operator !== '!=') return table.comparison(search)
      // What has no such field has no other value in it.
      const exists = table.comparison({ ...search, operator: '=', values: [{ is: 'anything' }] })
      return sql`(${exists} AND (${table.comparison({ ...search, operator: '=' })}) IS NOT TRUE)`
    }
  }
}

export function anyValue(
  { values }: Comparison,
  anything: Sql,
  one: (value: Exclude<Value, { is: 'anything' }>) => Sql,
): Sql {
  return anyOf(values.map((value) => (value.is === 'anything' ? anything : one(value))))
}

export function textColumn(comparison: Comparison, column: string): Sql {
  const hasText = raw(`(${column} IS NOT NULL AND ${column} <> '')`)
  return anyValue(comparison, hasText, ({ is, text }) =>
    is === 'prefix' ? begins(raw(column), text) : sql`${raw(column)} ${raw(comparison.operator)} ${text}`,
  )
}

function begins(expression: Sql, text: string): Sql {
  return sql`substr(${expression}, 1, ${[...text].length}) = ${text}`
}

/** Ignores the case of ASCII letters. */
export function contains(column: string, text: string): Sql {
  return sql`${raw(column)} LIKE ${`%${text.replace(/[\\%_]/g, '\\$&')}%`} ESCAPE '\\'`
}

export function containsAny(columns: readonly string[], text: string): Sql {
  return anyOf(caseVariants(text).flatMap((variant) => columns.map((column) => contains(column, variant))))
}

export function numberColumn(comparison: Comparison, column: string): Sql {
  return anyValue(comparison, raw(`${column} IS NOT NULL`), ({ is, text }) => {
    const number = is === 'exact' ? numberIn(text) : undefined
    if (number === undefined) throw invalidValue(comparison, 'expected a number')
    return sql`${raw(column)} ${raw(comparison.operator)} ${number}`
  })
}

export function timeColumn(comparison: Comparison, column: string, nowMs: number): Sql {
  return anyValue(comparison, raw(`${column} IS NOT NULL`), ({ is, text }) => {
    if (is !== 'exact') throw invalidValue(comparison, 'expected a time')
    const timeMs = parseTime(text, nowMs)
    if (timeMs === undefined) throw invalidValue(comparison, `${JSON.stringify(text)} is no time`)
    return sql`${raw(column)} ${raw(comparison.operator)} ${timeMs}`
  })
}

export function invalidValue(
  { field, position = 0, length = 0 }: Comparison,
  message: string,
): SearchSyntaxError {
  return new SearchSyntaxError(`${field}: ${message}`, position, length)
}

export function numberIn(text: string): number | undefined {
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

/** A condition on the value at a path into the message. */
export function pathCondition({ path, operator, values }: Comparison): Sql {
  return anyOf(jsonPaths(path).flatMap((at) => values.map((value) => valueCondition(at, operator, value))))
}

function valueCondition(path: string, operator: string, value: Value): Sql {
  const type = sql`json_type(body, ${path})`
  const found = sql`json_extract(body, ${path})`
  if (value.is === 'anything') return sql`${type} IS NOT NULL`
  const { text } = value
  if (value.is === 'prefix') return sql`(${type} = 'text' AND ${begins(found, text)})`
  const asText = sql`(${found} ${raw(operator)} ${text} AND ${type} = 'text')`
  const number = value.isQuoted ? undefined : numberIn(text)
  if (number !== undefined) {
    // One look at the message: most have another value there. The type of `true` and `false` is another one too.
    if (operator === '=')
      return sql`(${found} IN (${number}, ${text}) AND ${type} IN ('integer', 'real', 'text'))`
    return sql`(${found} ${raw(operator)} ${number} AND ${type} IN ('integer', 'real'))`
  }
  const isLiteral = !value.isQuoted && operator === '=' && ['true', 'false', 'null'].includes(text)
  return isLiteral ? anyOf([asText, sql`${type} = ${text}`]) : asText
}

/**
 * The possible meanings of a path, in the path syntax of SQLite: whole numbers are array indexes or keys, and the keys below the
 * first may be one key with dots.
 */
function jsonPaths([root = '', ...keys]: readonly string[]): string[] {
  const asKeys = keys.map((key) => `.${label(key)}`).join('')
  const asPlaces = keys.map((key) => (isPlace(key) ? `[${key}]` : `.${label(key)}`)).join('')
  const paths = new Set([asPlaces, asKeys, `.${label(keys.join('.'))}`])
  return [...paths].map((path) => `$.${label(root)}${path}`)
}

/** A key in the path syntax of SQLite: with JSON escapes, but `\u0022` instead of `\"`, where SQLite would end the key. */
function label(key: string): string {
  return `"${JSON.stringify(key).slice(1, -1).replaceAll('\\"', '\\u0022')}"`
}
