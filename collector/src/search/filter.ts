import type { EventSummary } from '../record.ts'
import { parseSearch } from './parse.ts'
import { type Comparison, EVENT_VOCABULARY, type Search } from './syntax.ts'

/** A filter for records. Every given field must match: `q` and `text` in their own ways, all others exactly. */
export interface EventFilter {
  /** A search line, for example `event:"Order Completed" properties.total>100 -source:web`. */
  q?: string
  /** Default: both. */
  status?: EventSummary['status']
  reason?: string
  source?: string
  /** The kind of message. */
  type?: string
  /** Event name of a track. */
  event?: string
  /** Event name of a track, name of a page or screen, groupId of a group, previousId of an alias. */
  name?: string
  userId?: string
  anonymousId?: string
  messageId?: string
  /** A text that occurs anywhere in the message or its name; case is ignored. */
  text?: string
  /** Only records after this one: its `seq`, or a cursor of the HTTP API. */
  after?: number | string
  /** Only records before this one. */
  before?: number | string
}

/** A filter with the order and number of records. */
export interface EventQuery extends EventFilter {
  /** Default `oldest`. */
  order?: 'oldest' | 'newest'
  /** Maximum number of records; default: all. */
  limit?: number
}

const FIELDS = {
  status: 'status',
  reason: 'reason',
  source: 'source',
  type: 'type',
  event: 'event',
  name: 'name',
  userId: 'user',
  anonymousId: 'anonymous',
  messageId: 'message',
} as const

/**
 * The filter as one search, without `after` and `before`.
 *
 * @throws SearchSyntaxError when `q` cannot be read.
 */
export function searchOf(filter: EventFilter): Search {
  const parts: Search[] = []
  if (filter.q !== undefined) parts.push(parseSearch(filter.q, EVENT_VOCABULARY))
  for (const [key, field] of Object.entries(FIELDS)) {
    const wanted = filter[key as keyof typeof FIELDS]
    if (wanted !== undefined) parts.push(equals(field, wanted))
  }
  if (filter.text !== undefined && filter.text !== '') parts.push({ kind: 'text', text: filter.text })
  return parts.length === 1 ? (parts[0] as Search) : { kind: 'and', parts }
}

/** A comparison of a field with exactly this text. */
export function equals(field: string, text: string): Comparison {
  return {
    kind: 'compare',
    field,
    path: [],
    operator: '=',
    values: [{ is: 'exact', text, isQuoted: true }],
  }
}

/** Whether a search names a status or a reason anywhere, and so means rejected records as well. */
export function asksForStatus(search: Search): boolean {
  switch (search.kind) {
    case 'and':
    case 'or':
      return search.parts.some(asksForStatus)
    case 'not':
      return asksForStatus(search.part)
    case 'compare':
      return search.field === 'status' || search.field === 'reason'
    default:
      return false
  }
}
