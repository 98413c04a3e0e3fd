import { TEXT_FIELDS } from '../../record.ts'
import { caseVariants, comparisonsOf } from '../../search/meanings.ts'
import type { Comparison, Search } from '../../search/syntax.ts'
import type { Bounds, Dialect, EventCondition } from '../dialect.ts'
import { escapeForStore } from '../escape.ts'
import { raw, type Sql, sql } from '../sql.ts'
import {
  allOf,
  anyOf,
  anyValue,
  conditionOf,
  contains,
  invalidValue,
  isNotNull,
  numberColumn,
  numberOf,
  pathCondition,
  textColumn,
  timeColumn,
} from './condition.ts'

/** Columns by the name of the search field. */
const TEXTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.values(TEXT_FIELDS).map(({ search, column }) => [search, `event.${column}`])),
  reason: 'reason',
  type: 'kind',
}
const FACTS: ReadonlySet<string> = new Set(['reason', 'type', 'source', 'status', 'received'])
/** Indexed columns by the name of the search field, first those that usually match the fewest events. */
const INDEXED: Readonly<Record<string, string[]>> = {
  message: ['message_id'],
  user: ['user_id'],
  anonymous: ['anonymous_id'],
  id: ['user_id', 'anonymous_id'],
  event: ['name'],
  ...Object.fromEntries(Object.values(TEXT_FIELDS).map(({ search, column }) => [search, [column]])),
}
const STATES = ['pending', 'delivered', 'skipped', 'failed'] as const

/** @throws SearchSyntaxError when the search has an invalid value for a field. */
export function eventCondition(dialect: Dialect, search: Search, nowMs: number): EventCondition {
  const on = (slice: Bounds) => conditionOnSlice(dialect, search, nowMs, slice)
  // This call throws for an invalid value, even if there are no events to search.
  on({ first: 1, last: 0 })
  return {
    on,
    index: indexFor(search),
    needsOnlyFacts: needsOnlyFacts(search),
    comparisons: comparisonsOf(search),
  }
}

/** The index for the term that probably matches the fewest events, among the exact terms that are joined by `and`. */
function indexFor(search: Search): EventCondition['index'] {
  const parts = search.kind === 'and' ? search.parts : [search]
  const exactly = (field: string) =>
    parts.flatMap((part) => {
      if (part.kind !== 'compare' || part.field !== field || part.operator !== '=') return []
      const [value] = part.values
      return part.values.length === 1 && value?.is === 'exact' ? [value.text] : []
    })
  const request = exactly('request')
    .map(numberOf)
    .find((number) => number !== undefined)
  if (request !== undefined) return { columns: ['request_id'], value: request, isSegmented: false }
  for (const [field, columns] of Object.entries(INDEXED)) {
    const [text] = exactly(field)
    if (text !== undefined) return { columns, value: escapeForStore(text), isSegmented: true }
  }
  return undefined
}

function needsOnlyFacts(search: Search): boolean {
  switch (search.kind) {
    case 'and':
    case 'or':
      return search.parts.every(needsOnlyFacts)
    case 'not':
      return needsOnlyFacts(search.part)
    case 'text':
      return false
    case 'compare':
      return FACTS.has(search.field)
  }
}

function conditionOnSlice(dialect: Dialect, search: Search, nowMs: number, slice: Bounds): Sql {
  const deliveries = (comparisons: readonly Comparison[]) =>
    dialect.hasDelivery(allOf(comparisons.map((comparison) => deliveryCondition(dialect, comparison))), slice)
  return conditionOf(search, {
    text: (text) =>
      anyOf(
        caseVariants(text).flatMap((variant) => {
          // The message is stored as JSON, which escapes quotes and some other characters.
          const inJson = JSON.stringify(variant).slice(1, -1)
          return [
            contains(dialect, withoutKeys('body', inJson), inJson),
            inheritedContains(dialect, inJson, slice),
            contains(dialect, 'reason', variant),
            contains(dialect, 'event.name', variant),
          ]
        }),
      ),
    comparison: (comparison) =>
      isOfDelivery(comparison) ? deliveries([comparison]) : eventColumn(dialect, comparison, nowMs),
    // `destination` and `delivery` joined by `and` must hold for the same delivery.
    together: { has: isOfDelivery, condition: deliveries },
  })
}

/**
 * Fields that the event overrides are searched too. The subquery runs once for each slice. It reads the rows of `inherited` in
 * the slice and the last row before, because only these can belong to events of the slice.
 */
function inheritedContains(dialect: Dialect, text: string, { first, last }: Bounds): Sql {
  return sql`event.inherited IN (SELECT seq FROM inherited
      WHERE seq BETWEEN coalesce((SELECT max(seq) FROM inherited WHERE seq <= ${first}), 0) AND ${last}
        AND ${contains(dialect, withoutKeys('body', text), text)})`
}

/** What clients write into every message, so that a word within it would find everything: `ada` is in `_metadata`. */
const OWN_KEYS = (
  '_metadata anonymousId context integrations jsRuntime library messageId nodeVersion originalTimestamp properties ' +
  'receivedAt sentAt timestamp traits userId version'
).split(' ')

function withoutKeys(column: string, text: string): string {
  const within = OWN_KEYS.filter((key) => key.toLowerCase().includes(text.toLowerCase()))
  return within.reduce((rest, key) => `replace(${rest}, '"${key}":', '":')`, column)
}

function isOfDelivery({ field }: Comparison): boolean {
  return field === 'destination' || field === 'delivery'
}

function deliveryCondition(dialect: Dialect, comparison: Comparison): Sql {
  if (comparison.field === 'destination') return textColumn(dialect, comparison, 'destination')
  return anyValue(comparison, isNotNull('state'), ({ text }) => {
    const state = STATES.find((one) => one === text)
    if (state === undefined) throw invalidValue(comparison, `expected ${STATES.join(', ')}`)
    // The state is a literal, because the partial index `delivery_failed` cannot be used with a bound value.
    return raw(`state = '${state}'`)
  })
}

function eventColumn(dialect: Dialect, comparison: Comparison, nowMs: number): Sql {
  const { field } = comparison
  const column = TEXTS[field]
  if (column !== undefined) return textColumn(dialect, comparison, column)
  switch (field) {
    case 'event':
      return sql`(kind = 'track' AND ${textColumn(dialect, comparison, 'event.name')})`
    case 'source':
      return sql`source_id IN (SELECT id FROM source WHERE ${textColumn(dialect, comparison, 'name')})`
    case 'id':
      return anyOf(['user_id', 'anonymous_id'].map((one) => textColumn(dialect, comparison, one)))
    case 'status':
      return anyOf(
        comparison.values.map((value) => {
          if (value.is === 'exact' && value.text === 'accepted') return raw('reason IS NULL')
          if (value.is === 'exact' && value.text === 'rejected') return raw('reason IS NOT NULL')
          throw invalidValue(comparison, 'expected accepted or rejected')
        }),
      )
    case 'request':
      return numberColumn(comparison, 'request_id')
    case 'received':
      return timeColumn(comparison, 'received_at', nowMs)
    case 'timestamp':
      return timeColumn(comparison, 'event.timestamp', nowMs)
    case 'violation':
      // The column is a list of violations as JSON. The text may occur anywhere in the list.
      return anyValue(comparison, isNotNull('violations'), ({ text }) =>
        contains(dialect, 'violations', JSON.stringify(text).slice(1, -1)),
      )
    case 'warning':
      // The column is a list of codes as JSON. One of the codes must equal the value or begin with it.
      return anyValue(comparison, isNotNull('warnings'), ({ is, text }) => {
        const quoted = JSON.stringify(text)
        return contains(dialect, 'warnings', is === 'prefix' ? quoted.slice(0, -1) : quoted)
      })
    default:
      return pathCondition(dialect, comparison)
  }
}
