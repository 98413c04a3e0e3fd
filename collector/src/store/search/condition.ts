import { type Comparison, SearchSyntaxError } from '../../search/syntax.ts'
import type { Dialect } from './dialect.ts'

export type SqlValue = string | number | null

/** A condition, with the values for its placeholders in order. */
export interface Condition {
  sql: string
  values: Array<SqlValue | SliceEdge>
}

/** Stands for the first or last number of the slice that is being searched. */
export type SliceEdge = typeof SLICE_FROM | typeof SLICE_TO
export const SLICE_FROM: unique symbol = Symbol('from')
export const SLICE_TO: unique symbol = Symbol('to')

/** The values of a condition for one slice. */
export function boundTo(values: Condition['values'], from: number, to: number): SqlValue[] {
  return values.map((value) => {
    if (value === SLICE_FROM) return from
    return value === SLICE_TO ? to : (value as SqlValue)
  })
}

export function joined(parts: readonly Condition[], by: 'AND' | 'OR', none: string): Condition {
  if (parts.length === 0) return { sql: none, values: [] }
  return {
    sql:
      parts.length === 1 ? (parts[0] as Condition).sql : `(${parts.map(({ sql }) => sql).join(` ${by} `)})`,
    values: parts.flatMap(({ values }) => values),
  }
}

export function wrong(comparison: Comparison, message: string): SearchSyntaxError {
  return new SearchSyntaxError(
    `${comparison.field}: ${message}`,
    comparison.position ?? 0,
    comparison.length ?? 0,
  )
}

export function textColumn(dialect: Dialect, comparison: Comparison, column: string): Condition {
  const { operator, values } = comparison
  const all = values.map((value): Condition => {
    if (value.is === 'anything') return { sql: dialect.hasText(column), values: [] }
    if (value.is === 'prefix') return dialect.begins(column, value.text)
    return dialect.text(column, operator, value.text)
  })
  return joined(all, 'OR', dialect.false)
}

export function numberColumn(dialect: Dialect, comparison: Comparison, column: string): Condition {
  const { operator, values } = comparison
  const all = values.map((value): Condition => {
    if (value.is === 'anything') return { sql: `${column} IS NOT NULL`, values: [] }
    const number = value.is === 'exact' ? numberOf(value.text) : undefined
    if (number === undefined) throw wrong(comparison, 'expected a number')
    return dialect.number(column, operator, number)
  })
  return joined(all, 'OR', dialect.false)
}

/** A column that holds a JSON list, in which text is searched. */
export function listColumn(dialect: Dialect, comparison: Comparison, column: string): Condition {
  const all = comparison.values.map((value): Condition => {
    if (value.is === 'anything') return { sql: `${column} IS NOT NULL`, values: [] }
    return dialect.contains(column, JSON.stringify(value.text).slice(1, -1))
  })
  return joined(all, 'OR', dialect.false)
}

export function numberOf(text: string): number | undefined {
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

/** The pattern of LIKE for a text that may stand anywhere, with `\` as its escape. */
export function anywhere(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`
}

/** The database ignores the case of ASCII letters only; for others the usual ways of writing are tried. */
export function caseVariants(text: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what is not ASCII is meant
  if (/^[\u0000-\u007f]*$/.test(text)) return [text]
  const lower = text.toLowerCase()
  const first = [...lower][0] ?? ''
  return [...new Set([text, lower, text.toUpperCase(), first.toUpperCase() + lower.slice(first.length)])]
}
