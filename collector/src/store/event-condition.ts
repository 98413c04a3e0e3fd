import { TEXT_FIELDS } from '../record.ts'
import { caseVariants } from '../search/meanings.ts'
import type { Comparison, Search } from '../search/syntax.ts'
import {
  anyValue,
  conditionOf,
  contains,
  invalidValue,
  numberColumn,
  pathCondition,
  textColumn,
  timeColumn,
} from './conditions.ts'
import { allOf, anyOf, raw, type Sql, sql } from './sql.ts'

/** Columns by the name of the search field. */
const TEXTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(TEXT_FIELDS).map(([column, search]) => [search, column])),
  reason: 'reason',
  type: 'kind',
  source: 'source',
  person: 'person',
}
const STATES = ['pending', 'delivered', 'skipped', 'failed'] as const
const STATUSES: Readonly<Record<string, string>> = {
  accepted: 'reason IS NULL',
  rejected: "(reason IS NOT NULL AND reason <> 'duplicate')",
  repeated: "reason = 'duplicate'",
}

/** @throws SearchSyntaxError when the search has an invalid value for a field. */
export function eventCondition(search: Search, nowMs: number): Sql {
  return conditionOf(search, {
    text: textCondition,
    comparison: (comparison) =>
      isOfDelivery(comparison) ? deliveries([comparison]) : eventColumn(comparison, nowMs),
    // `destination` and `delivery` joined by `and` must hold for the same delivery.
    together: { has: isOfDelivery, condition: deliveries },
  })
}

function textCondition(text: string): Sql {
  return anyOf(
    caseVariants(text).flatMap((variant) => {
      // The message is stored as JSON, which escapes quotes and some other characters.
      const inJson = JSON.stringify(variant).slice(1, -1)
      return [contains(withoutKeys(inJson), inJson), contains('reason', variant), contains('name', variant)]
    }),
  )
}

/** What clients write into every message, so that a word within it would find everything: `ada` is in `_metadata`. */
const OWN_KEYS = (
  '_metadata anonymousId context integrations jsRuntime library messageId nodeVersion originalTimestamp properties ' +
  'receivedAt sentAt timestamp traits userId version'
).split(' ')

function withoutKeys(text: string): string {
  const within = OWN_KEYS.filter((key) => key.toLowerCase().includes(text.toLowerCase()))
  return within.reduce((rest, key) => `replace(${rest}, '"${key}":', '":')`, 'body')
}

function isOfDelivery({ field }: Comparison): boolean {
  return field === 'destination' || field === 'delivery'
}

function deliveries(comparisons: readonly Comparison[]): Sql {
  const conditions = comparisons.map((comparison) => {
    if (comparison.field === 'destination') return textColumn(comparison, 'destination')
    return anyValue(comparison, raw('state IS NOT NULL'), ({ text }) => {
      if ((STATES as readonly string[]).includes(text)) return sql`state = ${text}`
      throw invalidValue(comparison, `expected ${STATES.join(', ')}`)
    })
  })
  return sql`seq IN (SELECT seq FROM delivery WHERE ${allOf(conditions)})`
}

/** By the index of persons: all events of a user belong to the same one. */
function userColumn(comparison: Comparison): Sql {
  const own = (text: string) => sql`coalesce((SELECT person FROM owner WHERE id = ${`u:${text}`}), ${text})`
  return anyOf(
    comparison.values.map((value) => {
      const condition = textColumn({ ...comparison, values: [value] }, 'userId')
      const isOne = value.is === 'exact' && comparison.operator === '='
      return isOne ? sql`(person = ${own(value.text)} AND ${condition})` : condition
    }),
  )
}

function eventColumn(comparison: Comparison, nowMs: number): Sql {
  const { field } = comparison
  const column = TEXTS[field]
  if (column === 'userId') return userColumn(comparison)
  if (column !== undefined) return textColumn(comparison, column)
  switch (field) {
    case 'event':
      return sql`(kind = 'track' AND ${textColumn(comparison, 'name')})`
    case 'id':
      return anyOf(['userId', 'anonymousId'].map((one) => textColumn(comparison, one)))
    case 'status':
      return anyValue(comparison, raw('TRUE'), ({ text }) => {
        const condition = STATUSES[text]
        if (condition !== undefined) return raw(condition)
        throw invalidValue(comparison, `expected ${Object.keys(STATUSES).join(', ')}`)
      })
    case 'request':
      return numberColumn(comparison, 'request_id')
    case 'received':
      return timeColumn(comparison, 'received_at', nowMs)
    case 'timestamp':
      return timeColumn(comparison, 'timestamp', nowMs)
    case 'violation':
      // The column is a list of violations as JSON. The text may occur anywhere in the list.
      return anyValue(comparison, raw('violations IS NOT NULL'), ({ text }) =>
        contains('violations', JSON.stringify(text).slice(1, -1)),
      )
    case 'warning':
      // The column is a list of codes as JSON. One of the codes must equal the value or begin with it.
      return anyValue(comparison, raw('warnings IS NOT NULL'), ({ is, text }) => {
        const quoted = JSON.stringify(text)
        return contains('warnings', is === 'prefix' ? quoted.slice(0, -1) : quoted)
      })
    default:
      return pathCondition(comparison)
  }
}
