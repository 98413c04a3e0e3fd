import type { Comparison } from '../../search/syntax.ts'
import { type Condition, joined, numberOf, wrong } from './condition.ts'
import type { Dialect } from './dialect.ts'

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

/** A column that holds a JSON list of codes, one of which is exactly the value or begins with it. */
export function codesColumn(dialect: Dialect, comparison: Comparison, column: string): Condition {
  const all = comparison.values.map((value): Condition => {
    if (value.is === 'anything') return { sql: `${column} IS NOT NULL`, values: [] }
    const quoted = JSON.stringify(value.text)
    return dialect.contains(column, value.is === 'prefix' ? quoted.slice(0, -1) : quoted)
  })
  return joined(all, 'OR', dialect.false)
}
