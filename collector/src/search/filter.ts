import { type EventSummary, type EventTexts, TEXT_NAMES } from '../record.ts'
import { parseSearch } from './parse.ts'
import { type Comparison, EVENT_VOCABULARY, type Search } from './syntax.ts'

/** Each field has the docstring that it has in `EventSummary`. */
type TextFilter = { [Field in keyof EventTexts]?: string }

/**
 * A filter for records. A record must match every given field. A field must equal the given value, unless its description says
 * otherwise.
 */
export interface EventFilter extends TextFilter {
  /** A search, for example `event:"Order Completed" properties.total>100 -source:web`. */
  q?: string
  /** Default: all. A duplicate is `repeated`, and not `rejected`. */
  status?: EventSummary['status']
  reason?: string
  source?: string
  /** The kind of message. */
  type?: string
  /** Event name of a track. */
  event?: string
  /** A text that occurs anywhere in the message, its name or its reason. Upper and lower case are equal. */
  text?: string
  /** Only records after this position: the `seq` of a record, or a cursor of the HTTP API. */
  after?: number | string
}

/** A filter with the order and the maximum number of records. */
export interface EventQuery extends EventFilter {
  /** Default `oldest`. */
  order?: 'oldest' | 'newest'
  /** Maximum number of records; default: all. */
  limit?: number
}

const FIELDS = ['status', 'reason', 'source', 'type', 'event', ...TEXT_NAMES] as const

/**
 * Leaves out `after`.
 *
 * @throws SearchSyntaxError when `q` cannot be read.
 */
export function searchOf(filter: EventFilter): Search {
  const parts: Search[] = []
  if (filter.q !== undefined) parts.push(parseSearch(filter.q, EVENT_VOCABULARY))
  for (const field of FIELDS) {
    const wanted = filter[field]
    if (wanted !== undefined) parts.push(equals(EVENT_VOCABULARY.fields[field] ?? field, wanted))
  }
  if (filter.text !== undefined && filter.text !== '') parts.push({ kind: 'text', text: filter.text })
  return parts.length === 1 ? (parts[0] as Search) : { kind: 'and', parts }
}

export function equals(field: string, text: string): Comparison {
  return {
    kind: 'compare',
    field,
    path: [],
    operator: '=',
    values: [{ is: 'exact', text, isQuoted: true }],
  }
}

/** Whether a search has a comparison with one of these fields. */
export function asksFor(search: Search, ...fields: readonly string[]): boolean {
  switch (search.kind) {
    case 'and':
    case 'or':
      return search.parts.some((part) => asksFor(part, ...fields))
    case 'not':
      return asksFor(search.part, ...fields)
    case 'compare':
      return fields.includes(search.field)
    default:
      return false
  }
}
