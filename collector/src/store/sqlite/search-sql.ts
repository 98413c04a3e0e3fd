import { type Comparison, type Search, SearchSyntaxError, type Value } from '../../search/syntax.ts'
import { parseTime } from '../../search/time.ts'
import type { SqlValue } from './database.ts'

/** A condition, with the values for its placeholders in order. */
export interface Condition {
  sql: string
  values: Array<SqlValue | SliceEdge>
}

/** Stands for the first or last number of the slice that is being searched. */
export type SliceEdge = typeof SLICE_FROM | typeof SLICE_TO
export const SLICE_FROM: unique symbol = Symbol('from')
export const SLICE_TO: unique symbol = Symbol('to')

/** The values of a condition for one slice. */
export function boundTo(values: Condition['values'], from: number, to: number): SqlValue[] {
  return values.map((value) => {
    if (value === SLICE_FROM) return from
    return value === SLICE_TO ? to : (value as SqlValue)
  })
}

/** A search as SQL over one segment of `event`. */
export interface EventCondition extends Condition {
  /** The index that finds the records of a segment; undefined = they are read one after another. */
  index?: { columns: string[]; value: SqlValue; isSegmented: boolean }
  /** Whether everything that it asks for lies in the index `event_facts`, many times smaller than the table. */
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
export function eventCondition(search: Search, nowMs: number): EventCondition {
  const condition = new EventCompiler(nowMs).compile(search)
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
        return { columns, value: value.text, isSegmented: true }
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

/** What the compilers of both tables have in common. */
abstract class Compiler {
  readonly nowMs: number

  constructor(nowMs: number) {
    this.nowMs = nowMs
  }

  abstract text(text: string): Condition
  abstract comparison(comparison: Comparison): Condition

  compile(search: Search): Condition {
    switch (search.kind) {
      case 'and':
        return joined(this.parts(search.parts), 'AND', '1')
      case 'or':
        return joined(
          search.parts.map((part) => this.compile(part)),
          'OR',
          '0',
        )
      case 'not': {
        const { sql, values } = this.compile(search.part)
        // A field that is absent does not match, and its negation does.
        return { sql: `(${sql}) IS NOT TRUE`, values }
      }
      case 'text':
        return this.text(search.text)
      case 'compare': {
        const { operator } = search
        if (operator !== '!=') return this.comparison(search)
        return this.compile({ kind: 'not', part: { ...search, operator: '=' } })
      }
    }
  }

  parts(parts: readonly Search[]): Condition[] {
    return parts.map((part) => this.compile(part))
  }

  time(comparison: Comparison, column: string): Condition {
    return this.each(comparison, (value) => {
      if (value.is !== 'exact') throw wrong(comparison, 'expected a time')
      const timeMs = parseTime(value.text, this.nowMs)
      if (timeMs === undefined) throw wrong(comparison, `${JSON.stringify(value.text)} is no time`)
      return { sql: `${column} ${comparison.operator} ?`, values: [timeMs] }
    })
  }

  each(comparison: Comparison, one: (value: Value) => Condition): Condition {
    return joined(comparison.values.map(one), 'OR', '0')
  }
}

class EventCompiler extends Compiler {
  text(text: string): Condition {
    return joined(
      caseVariants(text).flatMap((variant) => [
        // The message is kept as JSON, where quotes and the like are escaped.
        contains('body', JSON.stringify(variant).slice(1, -1)),
        contains('reason', variant),
        contains('event.name', variant),
      ]),
      'OR',
      '0',
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
    if (column !== undefined) return textColumn(comparison, column)
    switch (field) {
      case 'event': {
        const name = textColumn(comparison, 'event.name')
        return { sql: `(kind = 'track' AND ${name.sql})`, values: name.values }
      }
      case 'source': {
        const named = textColumn(comparison, 'name')
        return { sql: `source_id IN (SELECT id FROM source WHERE ${named.sql})`, values: named.values }
      }
      case 'id':
        return joined(
          ['user_id', 'anonymous_id'].map((one) => textColumn(comparison, one)),
          'OR',
          '0',
        )
      case 'status':
        return this.each(comparison, (value) => {
          if (value.is === 'exact' && value.text === 'accepted') return { sql: 'reason IS NULL', values: [] }
          if (value.is === 'exact' && value.text === 'rejected')
            return { sql: 'reason IS NOT NULL', values: [] }
          throw wrong(comparison, 'expected accepted or rejected')
        })
      case 'request':
        return numberColumn(comparison, 'request_id')
      case 'received':
        return this.time(comparison, 'received_at')
      case 'violation':
        return listColumn(comparison, 'violations')
      case 'warning':
        return listColumn(comparison, 'warnings')
      case 'destination':
      case 'delivery':
        return this.#deliveries([comparison])
      default:
        return pathCondition(comparison)
    }
  }

  #deliveries(comparisons: readonly Comparison[]): Condition {
    const conditions = comparisons.map((comparison) => {
      if (comparison.field === 'destination') return textColumn(comparison, 'destination')
      return this.each(comparison, (value) => {
        if (value.is === 'anything') return { sql: 'state IS NOT NULL', values: [] }
        const state = STATES.find((one) => one === value.text)
        if (state === undefined) throw wrong(comparison, `expected ${STATES.join(', ')}`)
        // As a literal: only so can the index of failed deliveries be used.
        return { sql: `state = '${state}'`, values: [] }
      })
    })
    const all = joined(conditions, 'AND', '1')
    return {
      sql: `seq IN (SELECT seq FROM delivery WHERE seq BETWEEN ? AND ? AND ${all.sql})`,
      values: [SLICE_FROM, SLICE_TO, ...all.values],
    }
  }
}

const REQUEST_TEXTS: Readonly<Record<string, string>> = {
  method: 'method',
  path: 'path',
  code: 'code',
  source: 'source',
  address: 'address',
  agent: 'agent',
  library: 'library',
  type: 'content_type',
  fault: 'fault',
}
const REQUEST_NUMBERS: Readonly<Record<string, string>> = {
  status: 'status',
  bytes: 'body_bytes',
  duration: 'duration',
  retries: 'retries',
  events: 'events',
}

class RequestCompiler extends Compiler {
  text(text: string): Condition {
    const columns = ['path', 'code', 'source', 'address', 'agent', 'library', 'problem', 'body']
    return joined(
      caseVariants(text).flatMap((variant) => columns.map((column) => contains(column, variant))),
      'OR',
      '0',
    )
  }

  comparison(comparison: Comparison): Condition {
    const text = REQUEST_TEXTS[comparison.field]
    if (text !== undefined) return textColumn(comparison, text)
    const number = REQUEST_NUMBERS[comparison.field]
    return number === undefined ? this.time(comparison, 'at') : numberColumn(comparison, number)
  }
}

/** A search over requests as SQL. */
export function requestCondition(search: Search, nowMs: number): Condition {
  return new RequestCompiler(nowMs).compile(search)
}

export function joined(parts: readonly Condition[], by: 'AND' | 'OR', none: string): Condition {
  if (parts.length === 0) return { sql: none, values: [] }
  return {
    sql:
      parts.length === 1 ? (parts[0] as Condition).sql : `(${parts.map(({ sql }) => sql).join(` ${by} `)})`,
    values: parts.flatMap(({ values }) => values),
  }
}

function wrong(comparison: Comparison, message: string): SearchSyntaxError {
  return new SearchSyntaxError(
    `${comparison.field}: ${message}`,
    comparison.position ?? 0,
    comparison.length ?? 0,
  )
}

function textColumn(comparison: Comparison, column: string): Condition {
  const { operator, values } = comparison
  const all = values.map((value): Condition => {
    if (value.is === 'anything') return { sql: `coalesce(${column}, '') <> ''`, values: [] }
    if (value.is === 'prefix') return begins(column, value.text)
    return { sql: `${column} ${operator} ?`, values: [value.text] }
  })
  return joined(all, 'OR', '0')
}

function numberColumn(comparison: Comparison, column: string): Condition {
  const { operator, values } = comparison
  const all = values.map((value): Condition => {
    if (value.is === 'anything') return { sql: `${column} IS NOT NULL`, values: [] }
    const number = value.is === 'exact' ? numberOf(value.text) : undefined
    if (number === undefined) throw wrong(comparison, 'expected a number')
    return { sql: `${column} ${operator} ?`, values: [number] }
  })
  return joined(all, 'OR', '0')
}

/** A column that holds a JSON list, in which text is searched. */
function listColumn(comparison: Comparison, column: string): Condition {
  const all = comparison.values.map((value): Condition => {
    if (value.is === 'anything') return { sql: `${column} IS NOT NULL`, values: [] }
    return contains(column, JSON.stringify(value.text).slice(1, -1))
  })
  return joined(all, 'OR', '0')
}

/** A path into the message. Numbers compare with numbers, everything else as text. */
function pathCondition(comparison: Comparison): Condition {
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

function numberOf(text: string): number | undefined {
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

function begins(expression: string, text: string): Condition {
  return { sql: `substr(${expression}, 1, ${[...text].length}) = ?`, values: [text] }
}

function contains(column: string, text: string): Condition {
  return { sql: `${column} LIKE ? ESCAPE '\\'`, values: [`%${text.replace(/[\\%_]/g, '\\$&')}%`] }
}

/** SQLite ignores the case of ASCII letters only; for others the usual ways of writing are tried. */
function caseVariants(text: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what is not ASCII is meant
  if (/^[\u0000-\u007f]*$/.test(text)) return [text]
  const lower = text.toLowerCase()
  const first = [...lower][0] ?? ''
  return [...new Set([text, lower, text.toUpperCase(), first.toUpperCase() + lower.slice(first.length)])]
}
