import type { Comparison } from '../../../search/syntax.ts'
import { isInherited } from '../../inherited.ts'
import { type Condition, joined, numberOf } from '../../search/condition.ts'
import { jsonText } from './json-text.ts'

/** The message of the event at hand, parsed once; see `WITH_MESSAGE`. */
export const MESSAGE_COLUMN = 'parsed.message'
/** The same of the inherited fields. */
export const INHERITED_COLUMN = 'outer_parsed.message'

/** A path into the message. Numbers compare with numbers, everything else as text. */
export function pathCondition({ path, operator, values }: Comparison): Condition {
  const at = placeOf(path)
  const one = (sql: string, ...own: Condition['values']): Condition => ({ sql, values: own })
  const isString = `jsonb_typeof(${at.sql}) = 'string'`
  const text = `(${at.sql} #>> '{}')`
  const all = values.flatMap((value): Condition[] => {
    if (value.is === 'anything') return [one(`${at.sql} IS NOT NULL`, ...at.values)]
    const wanted = jsonText(value.text)
    if (value.is === 'prefix') {
      const begins = `left(${text}, ${[...wanted].length}) = ?`
      return [one(`(${isString} AND ${begins})`, ...at.values, ...at.values, wanted)]
    }
    const asText =
      operator === '='
        ? one(`${at.sql} = to_jsonb(?::text)`, ...at.values, wanted)
        : one(`(${isString} AND ${text} COLLATE "C" ${operator} ?)`, ...at.values, ...at.values, wanted)
    if (value.isQuoted) return [asText]
    const number = numberOf(value.text)
    if (number !== undefined) {
      const isNumber = `jsonb_typeof(${at.sql}) = 'number'`
      const asNumber = one(
        `(${isNumber} AND ${at.sql} ${operator} to_jsonb(?::numeric))`,
        ...at.values,
        ...at.values,
        String(number),
      )
      return operator === '=' ? [asNumber, asText] : [asNumber]
    }
    if (operator !== '=' || !['true', 'false', 'null'].includes(value.text)) return [asText]
    return [asText, one(`${at.sql} = ?::jsonb`, ...at.values, value.text)]
  })
  return joined(all, 'OR', 'FALSE')
}

/** A whole number is a place in an array or a key of an object; `->` knows the keys of objects only. */
function placeOf(keys: readonly string[]): Condition {
  const steps = keys.map((key) => (/^\d{1,6}$/.test(key) ? '#> ARRAY[?::text]' : '-> ?::text'))
  const values = keys.map(jsonText)
  if (!isInherited(keys[0])) return { sql: `(${[MESSAGE_COLUMN, ...steps].join(' ')})`, values }
  // Merged one level deep: whoever has the second key has all that is below it.
  const [shared, deeper] = [steps.slice(0, 2), steps.slice(2)]
  const [own, outer] = [MESSAGE_COLUMN, INHERITED_COLUMN].map((column) => [column, ...shared].join(' '))
  return {
    sql: `(${[`coalesce(${own}, ${outer})`, ...deeper].join(' ')})`,
    values: [...values.slice(0, 2), ...values],
  }
}
