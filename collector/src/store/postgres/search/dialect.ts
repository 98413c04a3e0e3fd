import { escapeForStore } from '../../escape.ts'
import { anywhere, joined, SLICE_FROM, SLICE_TO } from '../../search/condition.ts'
import type { Dialect } from '../../search/dialect.ts'
import { pathCondition } from './path-condition.ts'

/** Columns that are indexed by what `brief` makes of their texts. */
const BRIEF: ReadonlySet<string> = new Set(['event.name', 'name', 'user_id', 'anonymous_id', 'message_id'])

/** Conditions as PostgreSQL has them. Columns compare by their bytes ("C"), so that order and case are those of ASCII. */
export const POSTGRES: Dialect = {
  true: 'TRUE',
  false: 'FALSE',
  text(column, operator, text) {
    const compare = `${column} ${operator} ?`
    if (operator !== '=' || !BRIEF.has(column)) return { sql: compare, values: [text] }
    return { sql: `(brief(${column}) = brief(?) AND ${compare})`, values: [text, text] }
  },
  // Said so that indexes of what is not null serve it.
  hasText: (column) => `(${column} IS NOT NULL AND ${column} <> '')`,
  number(column, operator, number) {
    // Fractions are compared as they are; the index serves whole numbers.
    const type = Number.isSafeInteger(number) ? 'bigint' : 'double precision'
    return { sql: `${column} ${operator} ?::${type}`, values: [number] }
  },
  begins(expression, text) {
    const stored = escapeForStore(text)
    return { sql: `left(${expression}, ${[...stored].length}) = ?`, values: [stored] }
  },
  contains: (column, text) => ({ sql: `${column} ILIKE ?`, values: [anywhere(escapeForStore(text))] }),
  inheritedContains: (text) => ({
    sql: `event.inherited IN (SELECT seq FROM inherited
      WHERE seq BETWEEN coalesce((SELECT max(seq) FROM inherited WHERE seq <= ?), 0) AND ? AND body ILIKE ?)`,
    values: [SLICE_FROM, SLICE_TO, anywhere(escapeForStore(text))],
  }),
  path: pathCondition,
  delivery(conditions) {
    const all = joined(conditions, 'AND', 'TRUE')
    return {
      sql: `EXISTS (SELECT FROM delivery WHERE delivery.seq = event.seq AND delivery.day = event.day AND delivery.seq BETWEEN ? AND ? AND ${all.sql})`,
      values: [SLICE_FROM, SLICE_TO, ...all.values],
    }
  },
}

/** The same statement with the placeholders of PostgreSQL. */
export function numbered(sql: string): string {
  let count = 0
  return sql.replace(/\?/g, () => {
    count++
    return `$${count}`
  })
}
