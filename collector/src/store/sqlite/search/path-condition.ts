import type { Comparison } from '../../../search/syntax.ts'
import { isInherited } from '../../inherited.ts'
import { type Condition, joined, numberOf } from '../../search/condition.ts'

/** A path into the message. Numbers compare with numbers, everything else as text. */
export function pathCondition(comparison: Comparison): Condition {
  const { path } = comparison
  const message = isInherited(path[0]) ? holderOf(path) : { sql: 'body', values: [] }
  return joined(
    jsonPaths(path).map((at) => conditionAt(comparison, at, message)),
    'OR',
    '0',
  )
}

export function begins(expression: string, text: string): Condition {
  return { sql: `substr(${expression}, 1, ${[...text].length}) = ?`, values: [text] }
}

/** The text in which a path is looked up that may lead into what the batch hands down: whoever has the second key has all below it. */
function holderOf(path: readonly string[]): Condition {
  const at = `$${path
    .slice(0, 2)
    .map((key) => `.${label(key)}`)
    .join('')}`
  return {
    sql: `CASE WHEN event.inherited IS NULL OR json_type(body, ?) IS NOT NULL THEN body
      ELSE (SELECT handed.body FROM inherited AS handed WHERE handed.seq = event.inherited) END`,
    values: [at],
  }
}

function conditionAt({ operator, values }: Comparison, path: string, message: Condition): Condition {
  const type = `json_type(${message.sql}, ?)`
  const extract = `json_extract(${message.sql}, ?)`
  const at = [...message.values, path]
  const isNumber = `${type} IN ('integer', 'real')`
  const all = values.flatMap((value): Condition[] => {
    if (value.is === 'anything') return [{ sql: `${type} IS NOT NULL`, values: at }]
    if (value.is === 'prefix') {
      const { sql, values: begin } = begins(extract, value.text)
      return [{ sql: `(${type} = 'text' AND ${sql})`, values: [...at, ...at, ...begin] }]
    }
    const { text, isQuoted } = value
    const asText = { sql: `(${type} = 'text' AND ${extract} ${operator} ?)`, values: [...at, ...at, text] }
    if (isQuoted) return [asText]
    const number = numberOf(text)
    if (number !== undefined) {
      const asNumber = { sql: `(${isNumber} AND ${extract} ${operator} ?)`, values: [...at, ...at, number] }
      return operator === '=' ? [asNumber, asText] : [asNumber]
    }
    if (operator !== '=' || !['true', 'false', 'null'].includes(text)) return [asText]
    return [asText, { sql: `${type} = ?`, values: [...at, text] }]
  })
  return joined(all, 'OR', '0')
}

/** So many keys that are whole numbers may each be a place in an array or a key of an object; of more, all are places. */
const MAX_UNCLEAR = 3

/** The meanings of a path, as SQLite writes them: a whole number is a place in an array or a key of an object. */
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

/** A key as SQLite reads it in a path: with the escapes of JSON, but for quotes, at which it would end. */
function label(key: string): string {
  return `"${JSON.stringify(key).slice(1, -1).replaceAll('\\"', '\\u0022')}"`
}
