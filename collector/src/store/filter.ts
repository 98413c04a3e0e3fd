import { type EventRecord, type EventSummary, isKind } from '../record.ts'

/** Which records are meant; every given field must match. Texts are compared exactly, `text` is not. */
export interface EventFilter {
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
  /** Occurs somewhere in the message or in its name, case ignored for ASCII letters. */
  text?: string
  /** Only records with a greater `seq`. */
  after?: number
  /** Only records with a smaller `seq`. */
  before?: number
}

/** Which of the matching records, and in which order. */
export interface EventQuery extends EventFilter {
  /** Default `oldest`. */
  order?: 'oldest' | 'newest'
  /** Longest answer; default: all. */
  limit?: number
}

type Condition = [sql: string, ...values: Array<string | number>]

function conditions(filter: EventFilter): Condition[] {
  const all: Condition[] = []
  const add = (value: string | number | undefined, ...[sql, ...values]: Condition) => {
    if (value !== undefined) all.push([sql, ...values])
  }
  const { status, reason, source, type, event, name, userId, anonymousId, messageId, text } = filter
  add(status, 'status = ?', status === 'accepted' ? 1 : 0)
  add(reason, 'reason = ?', reason ?? '')
  add(source, 'source_id = (SELECT id FROM source WHERE name = ?)', source ?? '')
  add(type, 'kind = ?', type ?? '')
  if (event !== undefined) all.push(["kind = 'track' AND event.name = ?", event])
  add(name, 'event.name = ?', name ?? '')
  add(userId, 'user_id = ?', userId ?? '')
  add(anonymousId, 'anonymous_id = ?', anonymousId ?? '')
  add(messageId, 'message_id = ?', messageId ?? '')
  if (text !== undefined && text !== '') {
    const pattern = `%${text.replace(/[\\%_]/g, '\\$&')}%`
    all.push(["(body LIKE ? ESCAPE '\\' OR reason LIKE ? ESCAPE '\\')", pattern, pattern])
  }
  add(filter.after, 'seq > ?', filter.after ?? 0)
  add(filter.before, 'seq < ?', filter.before ?? 0)
  return all
}

/** The filter as SQL over `event`, with the values for its placeholders in order. */
export function whereClause(filter: EventFilter): { sql: string; values: Array<string | number> } {
  const all = conditions(filter)
  return {
    sql: all.length === 0 ? '' : `WHERE ${all.map(([sql]) => sql).join(' AND ')}`,
    values: all.flatMap(([, ...values]) => values),
  }
}

/** The fields of a record that the filter without `text` looks at. */
export type Matchable = Pick<
  EventRecord,
  'seq' | 'status' | 'reason' | 'source' | 'type' | 'name' | 'userId' | 'anonymousId' | 'messageId'
>

/** Whether a record matches, said of everything but `text`, for which the message must be read. */
export function matches(filter: EventFilter, record: Matchable): boolean {
  const isSame = (wanted: string | undefined, actual: string | null) =>
    wanted === undefined || wanted === actual
  return (
    isSame(filter.status, record.status) &&
    isSame(filter.reason, record.reason) &&
    isSame(filter.source, record.source) &&
    isSame(filter.type, record.type) &&
    (filter.event === undefined || (record.type === 'track' && record.name === filter.event)) &&
    isSame(filter.name, record.name) &&
    isSame(filter.userId, record.userId) &&
    isSame(filter.anonymousId, record.anonymousId) &&
    isSame(filter.messageId, record.messageId) &&
    record.seq > (filter.after ?? Number.NEGATIVE_INFINITY) &&
    record.seq < (filter.before ?? Number.POSITIVE_INFINITY)
  )
}

/** The kind a database row names. */
export function kindOf(value: string | null): EventSummary['type'] {
  return isKind(value) || value === 'batch' ? value : null
}
