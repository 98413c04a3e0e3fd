/** A parsed search line: the conditions for a record. Shared by the API, `waitFor` and the command line. */
export type Search =
  | { kind: 'and'; parts: Search[] }
  | { kind: 'or'; parts: Search[] }
  | { kind: 'not'; part: Search }
  | { kind: 'text'; text: string }
  | Comparison

export type Operator = '=' | '!=' | '>' | '>=' | '<' | '<='

/** A field compared with values, one of which must match. */
export interface Comparison {
  kind: 'compare'
  /** One of the known fields, or `path`. */
  field: string
  /** Keys from the root of the message, for `path`. */
  path: string[]
  operator: Operator
  values: Value[]
  /** Position in the line, for errors that are found later; absent when the comparison does not come from a line. */
  position?: number
  length?: number
}

/** The value that a field is compared with. */
export type Value =
  | { is: 'exact'; text: string; isQuoted: boolean }
  | { is: 'prefix'; text: string }
  | { is: 'anything' }

/** Names that a search line may use for the records of one list, and their meanings. */
export interface Vocabulary {
  /** The words before the colon; values are their names in the store. */
  fields: Readonly<Record<string, string>>
  /** First keys of paths into the message. */
  roots: readonly string[]
}

/** The vocabulary of events. */
export const EVENT_VOCABULARY: Vocabulary = {
  fields: {
    event: 'event',
    name: 'name',
    type: 'type',
    user: 'user',
    userId: 'user',
    anonymous: 'anonymous',
    anonymousId: 'anonymous',
    message: 'message',
    messageId: 'message',
    id: 'id',
    source: 'source',
    status: 'status',
    reason: 'reason',
    request: 'request',
    destination: 'destination',
    delivery: 'delivery',
    violation: 'violation',
    warning: 'warning',
    received: 'received',
  },
  roots: ['properties', 'traits', 'context', 'integrations', '_metadata'],
}

/** The vocabulary of requests. */
export const REQUEST_VOCABULARY: Vocabulary = {
  fields: Object.fromEntries(
    [
      ...['method', 'path', 'status', 'code', 'source', 'address', 'agent', 'library', 'type'],
      ...['bytes', 'duration', 'retries', 'events', 'fault', 'received'],
    ].map((name) => [name, name]),
  ),
  roots: [],
}

/** Matches everything. */
export const EVERYTHING: Search = { kind: 'and', parts: [] }

/** A search line that cannot be read, with the position of the mistake. */
export class SearchSyntaxError extends Error {
  override readonly name = 'SearchSyntaxError'
  readonly code = 'bad_search'
  /** UTF-16 units from the start of the line. */
  readonly position: number
  readonly length: number

  constructor(message: string, position: number, length: number) {
    super(message)
    this.position = position
    this.length = length
  }
}

const BARE = /^[^\s:<>=!(),"]+$/

/** A text as a value of a search line, in quotes, so that it is taken literally. */
export function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`
}

/** The term that matches a field of exactly this value. */
export function term(field: string, value: string): string {
  const isPlain = BARE.test(value) && !/^(?:OR|-.*|.*\*|true|false|null|[\d.+-].*)$/.test(value)
  return `${field}:${isPlain ? value : quoted(value)}`
}

/** The path that leads to these keys of a message, as in a search line. */
export function pathText(keys: readonly string[]): string {
  return keys.map((key) => (BARE.test(key) && !key.includes('.') ? key : quoted(key))).join('.')
}
