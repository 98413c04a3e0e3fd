import { TEXT_FIELDS } from '../record.ts'

/** A parsed search: the conditions that a record must meet. */
export type Search =
  | { kind: 'and'; parts: Search[] }
  | { kind: 'or'; parts: Search[] }
  | { kind: 'not'; part: Search }
  | { kind: 'text'; text: string }
  | Comparison

export type Operator = '=' | '!=' | '>' | '>=' | '<' | '<='

/** At least one of the values must match; with `!=`, none of them. */
export interface Comparison {
  kind: 'compare'
  /** A field of the vocabulary, or `path` for a path into the message. */
  field: string
  /** The keys of the path into the message; empty for a field of the vocabulary. */
  path: string[]
  operator: Operator
  values: Value[]
  /** Position in the search, for errors that are found later; absent if the comparison was not parsed from a search. */
  position?: number
  length?: number
}

export type Value =
  | { is: 'exact'; text: string; isQuoted: boolean }
  | { is: 'prefix'; text: string }
  | { is: 'anything' }

/** The names that a search may use: one vocabulary for events, one for requests. */
export interface Vocabulary {
  /** The names before the colon, mapped to their names in the store. */
  fields: Readonly<Record<string, string>>
  /** The first keys that a path into the message may have. */
  roots: readonly string[]
}

export const EVENT_VOCABULARY: Vocabulary = {
  fields: {
    event: 'event',
    type: 'type',
    ...Object.fromEntries(
      Object.entries(TEXT_FIELDS).flatMap(([field, search]) => [
        [search, search],
        [field, search],
      ]),
    ),
    id: 'id',
    person: 'person',
    source: 'source',
    status: 'status',
    reason: 'reason',
    request: 'request',
    destination: 'destination',
    delivery: 'delivery',
    violation: 'violation',
    warning: 'warning',
    received: 'received',
    timestamp: 'timestamp',
  },
  roots: ['properties', 'traits', 'context', 'integrations', '_metadata'],
}

export const REQUEST_VOCABULARY: Vocabulary = {
  fields: Object.fromEntries(
    [
      ...['method', 'path', 'status', 'code', 'source', 'address', 'agent', 'library', 'type'],
      ...['bytes', 'duration', 'retries', 'events', 'fault', 'received'],
    ].map((name) => [name, name]),
  ),
  roots: [],
}

export const EVERYTHING: Search = { kind: 'and', parts: [] }

/** A search that cannot be read, with the position of the mistake. */
export class SearchSyntaxError extends Error {
  override readonly name = 'SearchSyntaxError'
  readonly code = 'bad_search'
  /** UTF-16 code units from the start of the search. */
  readonly position: number
  readonly length: number

  constructor(message: string, position: number, length: number) {
    super(message)
    this.position = position
    this.length = length
  }
}

const BARE = /^[^\s:<>=!(),"]+$/

/** Writes a text in quotes, so that a search takes it literally. */
export function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`
}

/** Returns the term that matches a field with exactly this value. */
export function term(field: string, value: string): string {
  const isPlain = BARE.test(value) && !/^(?:OR|-.*|.*\*|true|false|null|[\d.+-].*)$/.test(value)
  return `${field}:${isPlain ? value : quoted(value)}`
}

/** Joins the keys to a path in the syntax of searches. */
export function pathText(keys: readonly string[]): string {
  return keys.map((key) => (BARE.test(key) && !key.includes('.') ? key : quoted(key))).join('.')
}
