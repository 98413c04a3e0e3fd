import type { Comparison } from '../../../search/syntax.ts'
import { begins, type Condition, joined, numberOf } from './condition.ts'

/** A path into the message. Numbers compare with numbers, everything else as text. */
export function pathCondition(comparison: Comparison): Condition {
  const { operator, path, values } = comparison
  const at = jsonPath(path)
  const type = 'json_type(body, ?)'
  const extract = 'json_extract(body, ?)'
  const isNumber = `${type} IN ('integer', 'real')`
  const all = values.flatMap((value): Condition[] => {
    if (value.is === 'anything') return [{ sql: `${type} IS NOT NULL`, values: [at] }]
    if (value.is === 'prefix') {
      const { sql, values: begin } = begins(extract, value.text)
      return [{ sql: `(${type} = 'text' AND ${sql})`, values: [at, at, ...begin] }]
    }
    const { text, isQuoted } = value
    const asText = { sql: `(${type} = 'text' AND ${extract} ${operator} ?)`, values: [at, at, text] }
    if (isQuoted) return [asText]
    const number = numberOf(text)
    if (number !== undefined) {
      const asNumber = { sql: `(${isNumber} AND ${extract} ${operator} ?)`, values: [at, at, number] }
      return operator === '=' ? [asNumber, asText] : [asNumber]
    }
    if (operator !== '=' || !['true', 'false', 'null'].includes(text)) return [asText]
    return [asText, { sql: `${type} = ?`, values: [at, text] }]
  })
  return joined(all, 'OR', '0')
}

/** The path as SQLite writes it: whole numbers are places in an array. */
function jsonPath(keys: readonly string[]): string {
  return `$${keys.map((key) => (/^\d{1,6}$/.test(key) ? `[${key}]` : `."${key}"`)).join('')}`
}
