import { escapeForStore } from '../../escape.ts'
import { anywhere, joined, SLICE_FROM, SLICE_TO } from '../../search/condition.ts'
import type { Dialect } from '../../search/dialect.ts'
import { begins, pathCondition } from './path-condition.ts'

/** Conditions as SQLite has them. */
export const SQLITE: Dialect = {
  true: '1',
  false: '0',
  text: (column, operator, text) => ({ sql: `${column} ${operator} ?`, values: [escapeForStore(text)] }),
  hasText: (column) => `coalesce(${column}, '') <> ''`,
  number: (column, operator, number) => ({ sql: `${column} ${operator} ?`, values: [number] }),
  begins: (column, text) => begins(column, escapeForStore(text)),
  contains: (column, text) => ({
    sql: `${column} LIKE ? ESCAPE '\\'`,
    values: [anywhere(escapeForStore(text))],
  }),
  inheritedContains(text) {
    // Asked once for a slice: an event names one of its own slice, or the last one before it.
    const since = 'coalesce((SELECT max(seq) FROM inherited WHERE seq <= ?), 0)'
    return {
      sql: `event.inherited IN (SELECT seq FROM inherited WHERE seq BETWEEN ${since} AND ? AND body LIKE ? ESCAPE '\\')`,
      values: [SLICE_FROM, SLICE_TO, anywhere(escapeForStore(text))],
    }
  },
  path: pathCondition,
  delivery(conditions) {
    const all = joined(conditions, 'AND', '1')
    return {
      sql: `seq IN (SELECT seq FROM delivery WHERE seq BETWEEN ? AND ? AND ${all.sql})`,
      values: [SLICE_FROM, SLICE_TO, ...all.values],
    }
  },
}
