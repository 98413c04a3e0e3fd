import type { Comparison, Search } from '../../search/syntax.ts'
import { escapeForStore } from '../escape.ts'
import { codesColumn, listColumn, numberColumn, textColumn } from './column-conditions.ts'
import { Compiler } from './compiler.ts'
import { type Condition, caseVariants, joined, numberOf, type SqlValue, wrong } from './condition.ts'
import type { Dialect } from './dialect.ts'

/** A search as SQL over one slice of `event`. */
export interface EventCondition extends Condition {
  /** The columns whose indexes find the records of a slice; undefined = they are read one after another. */
  index?: { columns: string[]; value: SqlValue; isSegmented: boolean }
  /** Whether it asks for facts alone, not for texts or the message: a database may have them in an index many times smaller than the table. */
  needsOnlyFacts: boolean
}

/** Columns that hold a text, by the name of the field. */
const TEXT_COLUMNS: Readonly<Record<string, string>> = {
  name: 'event.name',
  user: 'user_id',
  anonymous: 'anonymous_id',
  message: 'message_id',
  reason: 'reason',
  type: 'kind',
}
const FACTS: ReadonlySet<string> = new Set(['reason', 'type', 'source', 'status', 'received'])
const INDEXED: Readonly<Record<string, string[]>> = {
  message: ['message_id'],
  user: ['user_id'],
  anonymous: ['anonymous_id'],
  id: ['user_id', 'anonymous_id'],
  event: ['name'],
  name: ['name'],
}
const STATES = ['pending', 'delivered', 'skipped', 'failed'] as const

/**
 * The search as SQL.
 *
 * @throws SearchSyntaxError for a value that its field cannot have.
 */
export function eventCondition(dialect: Dialect, search: Search, nowMs: number): EventCondition {
  const condition = new EventCompiler(dialect, nowMs).compile(search)
  const index = indexFor(search)
  return { ...condition, needsOnlyFacts: needsOnlyFacts(search), ...(index === undefined ? {} : { index }) }
}

/** The most selective of the exact terms that must all be true. */
function indexFor(search: Search): EventCondition['index'] {
  const parts = search.kind === 'and' ? search.parts : [search]
  for (const part of parts) {
    if (part.kind !== 'compare' || part.field !== 'request' || part.operator !== '=') continue
    const [value] = part.values
    const number = value?.is === 'exact' ? numberOf(value.text) : undefined
    if (part.values.length === 1 && number !== undefined) {
      return { columns: ['request_id'], value: number, isSegmented: false }
    }
  }
  for (const [field, columns] of Object.entries(INDEXED)) {
    for (const part of parts) {
      if (part.kind !== 'compare' || part.field !== field || part.operator !== '=') continue
      const [value] = part.values
      if (part.values.length === 1 && value?.is === 'exact') {
        return { columns, value: escapeForStore(value.text), isSegmented: true }
      }
    }
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

class EventCompiler extends Compiler {
  text(text: string): Condition {
    return joined(
      caseVariants(text).flatMap((variant) => [
        // The message is kept as JSON, where quotes and the like are escaped.
        this.dialect.contains('body', JSON.stringify(variant).slice(1, -1)),
        this.dialect.inheritedContains(JSON.stringify(variant).slice(1, -1)),
        this.dialect.contains('reason', variant),
        this.dialect.contains('event.name', variant),
      ]),
      'OR',
      this.dialect.false,
    )
  }

  /** Destination and state in one conjunction are about the same delivery. */
  override parts(parts: readonly Search[]): Condition[] {
    const isDelivery = (part: Search): part is Comparison =>
      part.kind === 'compare' &&
      (part.field === 'destination' || part.field === 'delivery') &&
      part.operator === '='
    const deliveries = parts.filter(isDelivery)
    const others = parts.filter((part) => !isDelivery(part)).map((part) => this.compile(part))
    return deliveries.length === 0 ? others : [...others, this.#deliveries(deliveries)]
  }

  comparison(comparison: Comparison): Condition {
    const { field } = comparison
    const column = TEXT_COLUMNS[field]
    if (column !== undefined) return textColumn(this.dialect, comparison, column)
    switch (field) {
      case 'event': {
        const name = textColumn(this.dialect, comparison, 'event.name')
        return { sql: `(kind = 'track' AND ${name.sql})`, values: name.values }
      }
      case 'source': {
        const named = textColumn(this.dialect, comparison, 'name')
        return { sql: `source_id IN (SELECT id FROM source WHERE ${named.sql})`, values: named.values }
      }
      case 'id':
        return joined(
          ['user_id', 'anonymous_id'].map((one) => textColumn(this.dialect, comparison, one)),
          'OR',
          this.dialect.false,
        )
      case 'status':
        return this.each(comparison, (value) => {
          if (value.is === 'exact' && value.text === 'accepted') return { sql: 'reason IS NULL', values: [] }
          if (value.is === 'exact' && value.text === 'rejected')
            return { sql: 'reason IS NOT NULL', values: [] }
          throw wrong(comparison, 'expected accepted or rejected')
        })
      case 'request':
        return numberColumn(this.dialect, comparison, 'request_id')
      case 'received':
        return this.time(comparison, 'received_at')
      case 'violation':
        return listColumn(this.dialect, comparison, 'violations')
      case 'warning':
        return codesColumn(this.dialect, comparison, 'warnings')
      case 'destination':
      case 'delivery':
        return this.#deliveries([comparison])
      default:
        return this.dialect.path(comparison)
    }
  }

  #deliveries(comparisons: readonly Comparison[]): Condition {
    const conditions = comparisons.map((comparison) => {
      if (comparison.field === 'destination') return textColumn(this.dialect, comparison, 'destination')
      return this.each(comparison, (value) => {
        if (value.is === 'anything') return { sql: 'state IS NOT NULL', values: [] }
        const state = STATES.find((one) => one === value.text)
        if (state === undefined) throw wrong(comparison, `expected ${STATES.join(', ')}`)
        // As a literal: only so can the index of failed deliveries be used.
        return { sql: `state = '${state}'`, values: [] }
      })
    })
    return this.dialect.delivery(conditions)
  }
}
