import { storedNumber } from '../../json/exact-json.ts'
import { type Comparison, type Search, SearchSyntaxError, type Value } from '../../search/syntax.ts'
import { parseTime } from '../../search/time.ts'
import type { Dialect, PathValue } from '../dialect.ts'
import { escapeForStore } from '../escape.ts'
import { raw, type Sql, sql } from '../sql.ts'

/** Converts the terms of a search to SQL conditions on the rows of one table. */
export interface SearchedTable {
  text(text: string): Sql
  /** Never called with `!=`, because `conditionOf` negates the condition for `=`. */
  comparison(comparison: Comparison): Sql
  /**
   * `has` recognises comparisons with columns of a related table. If several of them are joined by `and`, a single row of the
   * related table must satisfy them all.
   */
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
    case 'compare':
      if (search.operator !== '!=') return table.comparison(search)
      return conditionOf({ kind: 'not', part: { ...search, operator: '=' } }, table)
  }
}

export function allOf(parts: readonly Sql[]): Sql {
  return joined(parts, 'AND', 'TRUE')
}

export function anyOf(parts: readonly Sql[]): Sql {
  return joined(parts, 'OR', 'FALSE')
}

function joined([first, ...others]: readonly Sql[], by: string, none: string): Sql {
  if (first === undefined) return raw(none)
  if (others.length === 0) return first
  return sql`(${others.reduce((before, one) => sql`${before} ${raw(by)} ${one}`, first)})`
}

export function anyValue(
  { values }: Comparison,
  anything: Sql,
  one: (value: Exclude<Value, { is: 'anything' }>) => Sql,
): Sql {
  return anyOf(values.map((value) => (value.is === 'anything' ? anything : one(value))))
}

export function textColumn(dialect: Dialect, comparison: Comparison, column: string): Sql {
  // `is not null` allows the use of partial indexes, which contain only values that are not null.
  const hasText = raw(`(${column} IS NOT NULL AND ${column} <> '')`)
  return anyValue(comparison, hasText, ({ is, text }) => {
    const stored = escapeForStore(text)
    if (is === 'prefix') return begins(raw(column), stored)
    if (comparison.operator === '=') return dialect.equals(column, sql`${stored}`)
    return sql`${raw(column)} ${raw(comparison.operator)} ${stored}`
  })
}

export function begins(expression: Sql, text: string): Sql {
  return sql`substr(${expression}, 1, ${raw(String([...text].length))}) = ${text}`
}

/** Ignores the case of ASCII letters. */
export function contains({ like }: Dialect, column: string, text: string): Sql {
  const pattern = `%${escapeForStore(text).replace(/[\\%_]/g, '\\$&')}%`
  return sql`${raw(column)} ${like} ${pattern} ESCAPE '\\'`
}

export function numberColumn(comparison: Comparison, column: string): Sql {
  return anyValue(comparison, isNotNull(column), ({ is, text }) => {
    const number = is === 'exact' ? numberOf(text) : undefined
    if (number === undefined) throw invalidValue(comparison, 'expected a number')
    // An index on a column of integers can be used only if the value is an integer too.
    const type = Number.isSafeInteger(number) ? 'bigint' : 'double precision'
    return sql`${raw(column)} ${raw(comparison.operator)} CAST(${number} AS ${raw(type)})`
  })
}

export function timeColumn(comparison: Comparison, column: string, nowMs: number): Sql {
  return anyOf(
    comparison.values.map((value) => {
      if (value.is !== 'exact') throw invalidValue(comparison, 'expected a time')
      const timeMs = parseTime(value.text, nowMs)
      if (timeMs === undefined) throw invalidValue(comparison, `${JSON.stringify(value.text)} is no time`)
      return sql`${raw(column)} ${raw(comparison.operator)} ${timeMs}`
    }),
  )
}

export function pathCondition(dialect: Dialect, { path, operator, values }: Comparison): Sql {
  const one = (at: PathValue, value: Value): Sql[] => {
    if (value.is === 'anything') return [at.exists]
    const { text } = value
    if (value.is === 'prefix') return [at.begins(text)]
    const asText = at.text(operator, text)
    if (value.isQuoted) return [asText]
    const number = storedNumber(text.replace(/^\+/, '')) ?? numberOf(text)?.toString()
    if (number === undefined) {
      const isLiteral = operator === '=' && ['true', 'false', 'null'].includes(text)
      return isLiteral ? [asText, at.is(text)] : [asText]
    }
    return operator === '=' ? [at.number(operator, number), asText] : [at.number(operator, number)]
  }
  return anyOf(dialect.at(path).flatMap((at) => values.flatMap((value) => one(at, value))))
}

export function isNotNull(column: string): Sql {
  return sql`${raw(column)} IS NOT NULL`
}

export function invalidValue(
  { field, position = 0, length = 0 }: Comparison,
  message: string,
): SearchSyntaxError {
  return new SearchSyntaxError(`${field}: ${message}`, position, length)
}

export function numberOf(text: string): number | undefined {
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}
