import { type Comparison, SearchSyntaxError } from '../../search/syntax.ts'
import type { Sql } from '../sql.ts'

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

/** A condition for one slice. */
export function bound({ sql, values }: Condition, { first, last }: { first: number; last: number }): Sql {
  const own = values.map((value) => {
    if (value === SLICE_FROM) return first
    return value === SLICE_TO ? last : (value as SqlValue)
  })
  return { sql, values: own }
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
