/** The six kinds of message (specification, section 1). */
export const KINDS = ['identify', 'track', 'page', 'screen', 'group', 'alias'] as const
export type Kind = (typeof KINDS)[number]

const kindNames: ReadonlySet<unknown> = new Set(KINDS)

export function isKind(value: unknown): value is Kind {
  return kindNames.has(value)
}

/**
 * Reasons why a message or a request is not accepted: each code with a text for people.
 *
 * The status of the response is 200 for the first group, 400 for the second (`event_too_large` also occurs with 200), and 401
 * or 403 for the third. A 200 does not promise that the events are accepted (specification, section 3).
 */
export const REASONS = {
  no_user_anon_id: 'neither userId nor anonymousId',
  no_user_id: 'an alias needs a userId',
  no_event: 'a track needs an event name that is not blank',
  no_group_id: 'a group needs a groupId',
  no_previous_id: 'an alias needs a previousId',
  bad_type: 'type is not one of identify, track, page, screen, group, alias',
  bad_item: 'a batch item is not an object',
  bad_message_id: 'messageId is not a string of 1 to 99 characters without control characters',
  bad_id: 'userId, anonymousId, groupId or previousId is only white space',
  bad_field: 'properties, traits, context or integrations is not an object',
  duplicate: 'this messageId was seen before, with the same content',
  dedup_conflict: 'this messageId was seen before, with different content; the first one counts',
  no_write_key: 'no write key in the header or the body',
  unknown_write_key: 'no source has this write key',

  bad_content_type: 'Content-Type is not application/json',
  bad_encoding: 'the body is not plain or gzip, or the gzip data is broken',
  body_too_large: 'the body is over the limit: 512,000 bytes for a batch, 32,768 for a single event',
  event_too_large:
    'the event is over 32,768 bytes with the fields that it inherits from its batch, or the events of the batch are over 4 MB with them',
  batch_refused: 'another item made the service refuse the whole batch',
  invalid_json: 'the body is not JSON in UTF-8',
  too_deep: 'the body is nested deeper than 64 levels',
  not_an_object: 'the body is not a JSON object',
  batch_not_an_array: 'batch is not an array',
  too_many_items: 'the batch has more than 5,000 items; none of them was accepted',

  bad_credentials: 'the credentials are missing or unknown',
  malformed_credentials: 'the Authorization header is malformed',
  expired_token: 'the access token has expired or was revoked',
} as const
export type Reason = keyof typeof REASONS

/**
 * Warnings about an event, accepted or not: each code with a text for people. The client did something that the service
 * tolerates, or that is probably a mistake.
 */
export const WARNINGS = {
  content_type: 'Content-Type is not application/json; the real service refuses that',
  byte_order_mark: 'the body begins with a byte order mark, which JSON does not allow',
  timestamp: 'timestamp is not an ISO-8601 date-time; the time of receipt was used',
  timestamp_zone: 'timestamp names no time zone; it was read as UTC',
  timestamp_far: 'the event is dated before the year 2000 or more than a day in the future',
  number:
    'a number has more digits than a double holds and was rounded, or is beyond its range (about 1.8e308) and became null',
  batch_field:
    'context or integrations of the batch is not an object, or its sentAt is not an ISO-8601 date-time; it was left out',
  write_key_in_item:
    'a write key was found in an item, where it does not count; it belongs in the header or at the top of the body',
} as const
export type Warning = keyof typeof WARNINGS

/** A mistake in the body of a refused request. */
export interface RequestProblem {
  code: string
  message: string
  /** The position in the decompressed body: a byte offset, and line and column from 1. Undefined when there is no position. */
  offset?: number
  line?: number
  column?: number
}

/** The state of the delivery of one accepted event to one destination. */
export interface DestinationOutcome {
  name: string
  state: 'pending' | 'delivered' | 'skipped' | 'failed'
  /** Why the delivery was skipped or failed, or the result of its last attempt; absent if there is nothing to say. */
  reason?: string
  attempts: number
}

/** `repeated`: the event was stored before, and this one changes nothing. `rejected`: it was not accepted, for another reason. */
export type EventStatus = 'accepted' | 'rejected' | 'repeated'

/** One event in a list: everything but the message itself. */
export interface EventSummary {
  /** The id of the event in `/api/events/:id`. Its format may change. */
  id: string
  /** Sequence number in the order of arrival. It begins with 1 and increases by one for each recorded message. */
  seq: number
  /** Id of the request in which the event came; null if it is not known. */
  request: string | null
  /** Time in ISO 8601 when the collector had received the whole request. */
  receivedAt: string
  /** Time of the event in ISO 8601, corrected for the client's clock. */
  timestamp: string
  /** Name of the source; empty if the caller is unknown. */
  source: string
  status: EventStatus
  reason: Reason | null
  /** The kind; `batch` for a refused request that could not be split into events; null if the kind is unknown. */
  type: Kind | 'batch' | null
  /** Event name of a track, name of a page or screen, groupId of a group, or previousId of an alias. */
  name: string | null
  userId: string | null
  anonymousId: string | null
  messageId: string | null
  /** Warnings about the event; absent if there are none. */
  warnings?: Warning[]
  /** The first values of the properties or traits. Long strings are shortened. */
  preview: PreviewEntry[]
  /** Number of violations of the tracking plan. */
  violations: number
  destinations: DestinationOutcome[]
}

/** The texts of an event that have a column of their own, with an index: for each, its name in a search. */
export const TEXT_FIELDS = {
  name: 'name',
  userId: 'user',
  anonymousId: 'anonymous',
  messageId: 'message',
} as const

export type TextField = keyof typeof TEXT_FIELDS
export const TEXT_NAMES = Object.keys(TEXT_FIELDS) as TextField[]
export type EventTexts = Pick<EventSummary, TextField>
export const NO_TEXTS: EventTexts = { name: null, userId: null, anonymousId: null, messageId: null }

/** One value of a message. Its path is written as in a search. */
export interface PreviewEntry {
  path: string
  value: string | number | boolean | null
}

/**
 * The content of a `message`: the fields of the specification, section 1, as the service stores them.
 *
 * Data of the client has the type `any`, so that assertions in tests need no casts.
 */
export interface Message {
  type?: string
  messageId?: string
  /** Time in ISO 8601, corrected for the client's clock. */
  timestamp?: string
  /** The `timestamp` that the client sent; absent if it sent none. */
  originalTimestamp?: string
  sentAt?: string
  receivedAt?: string
  userId?: string
  anonymousId?: string
  event?: string
  name?: string
  groupId?: string
  previousId?: string
  // biome-ignore-start lint/suspicious/noExplicitAny: see above
  properties?: any
  traits?: any
  context?: any
  integrations?: any
  [field: string]: any
  // biome-ignore-end lint/suspicious/noExplicitAny: see above
}

/** A recorded event with its message. */
export interface EventRecord extends EventSummary {
  /**
   * The message as it is stored: fields of the batch merged in, `timestamp` corrected, `receivedAt` added, write key removed.
   * Null for a request that could not be read.
   */
  message: Message | null
}

export interface Violation {
  /** Path into the message, with dots between the keys. */
  path: string
  /** The JSON Schema keyword that was violated, or `unplanned` for a name that is not in the plan. */
  keyword: string
  message: string
}
