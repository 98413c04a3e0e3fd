import type { Search } from '../search/syntax.ts'
import { conditionOf, containsAny, numberColumn, textColumn, timeColumn } from './conditions.ts'
import type { Sql } from './sql.ts'

/** Columns by the name of the search field. */
const TEXTS: Readonly<Record<string, string>> = {
  ...{ method: 'method', path: 'path', code: 'code', source: 'source', address: 'address', fault: 'fault' },
  ...{ agent: 'userAgent', library: 'library', type: 'contentType' },
}
const NUMBERS: Readonly<Record<string, string>> = {
  ...{
    status: 'status',
    bytes: 'bodyBytes',
    duration: 'durationMs',
    retries: 'retryCount',
    events: 'events',
  },
}
const SEARCHED = ['path', 'code', 'source', 'address', 'userAgent', 'library', 'problem', 'body']

/** @throws SearchSyntaxError when the search has an invalid value for a field. */
export function requestCondition(search: Search, nowMs: number): Sql {
  return conditionOf(search, {
    text: (text) => containsAny(SEARCHED, text),
    comparison(comparison) {
      const text = TEXTS[comparison.field]
      if (text !== undefined) return textColumn(comparison, text)
      const number = NUMBERS[comparison.field]
      return number === undefined ? timeColumn(comparison, 'at', nowMs) : numberColumn(comparison, number)
    },
  })
}
