import { REASONS, type Reason, WARNINGS, type Warning } from './record.ts'

/** `info` means that nothing has to be done. */
export type Severity = 'error' | 'warning' | 'info'

export interface Help {
  meaning: string
  remedy: string
  severity: Severity
  /** The field that caused the problem, as a path into the message; null if no field did. */
  field: string | null
}

const REMEDIES: Readonly<Record<Reason, [remedy: string, field?: string]>> = {
  no_user_anon_id: ['Pass a userId, or an anonymousId for somebody who is not logged in.', 'userId'],
  no_user_id: ['Pass the new id as userId and the old one as previousId.', 'userId'],
  no_event: ['Name the action: event: "Order Completed". An empty text is not a name.', 'event'],
  no_group_id: ['Pass the id of the company or team as groupId.', 'groupId'],
  no_previous_id: ['Pass the id that the user had before as previousId.', 'previousId'],
  bad_type: ['Each item of a batch needs its type, in lower case.', 'type'],
  bad_item: ['Look at the code that fills the batch: an item is null, a text, a number or an array.'],
  bad_message_id: ['Send a text of at most 99 characters, or leave it out.', 'messageId'],
  bad_id: ['Leave an id out that is not known, instead of sending white space.', 'userId'],
  bad_field: ['Send an object there: { ... }, not a text, number or array.', 'properties'],
  too_many_items: ['Send at most 5,000 events in a request. The client of this project does that by itself.'],
  duplicate: [
    'Nothing has to be done: a client that got no response sent it again, and deduplication dropped it.',
    'messageId',
  ],
  dedup_conflict: [
    'Give each event a unique messageId. Compare both events to see what differs.',
    'messageId',
  ],
  no_write_key: ['Set the writeKey of the client.', 'writeKey'],
  unknown_write_key: ['Compare the client’s writeKey with the sources of the config file.', 'writeKey'],
  bad_content_type: ['Send Content-Type: application/json.'],
  bad_encoding: ['Send the body plain or as gzip, and say so in Content-Encoding.'],
  body_too_large: [
    'Send smaller batches, or less data in a single event: files and long texts belong elsewhere.',
  ],
  event_too_large: ['Send less data in this event: files and long texts belong elsewhere.', 'properties'],
  batch_refused: ['Fix that other item: it is in the same request, and has a reason of its own.'],
  invalid_json: ['Open the request on the page: the place where the body stops being JSON is marked.'],
  too_deep: ['Send flatter objects.'],
  not_an_object: ['Send one JSON object.'],
  batch_not_an_array: ['Send { "batch": [ ... ] }.', 'batch'],
  bad_credentials: ['Compare the write key or the OAuth settings of the client with the config file.'],
  malformed_credentials: ['Send Authorization: Basic and the base64 of the write key with a colon after it.'],
  expired_token: ['Have the client fetch a new token, and look at both clocks.'],
}

const REMEDIES_OF_WARNINGS: Readonly<Record<Warning, [remedy: string, field?: string]>> = {
  content_type: ['Send Content-Type: application/json. "strictContentType": true refuses other types.'],
  byte_order_mark: ['Write the body as UTF-8 without a byte order mark.'],
  timestamp: [
    'Send an ISO-8601 date-time, such as 2026-05-17T09:30:00Z; a Date in JSON is one.',
    'timestamp',
  ],
  timestamp_zone: ['Add the time zone: a Z at the end for UTC, or an offset such as +02:00.', 'timestamp'],
  timestamp_far: [
    'Send milliseconds or ISO-8601 and check the clock of the machine: seconds read as milliseconds give 1970.',
    'timestamp',
  ],
  number: ['Send ids and other long numbers as text.'],
  batch_field: [
    'Send objects as context and integrations, and a date-time such as 2026-05-17T09:30:00Z as sentAt.',
  ],
  write_key_in_item: ['Take the writeKey out of the item, and send it once for the whole batch.', 'writeKey'],
}

/** Of requests that are refused before anybody looks for events in them. */
const OF_REQUESTS: Readonly<Record<string, [meaning: string, remedy: string]>> = {
  not_found: [
    'the collector has nothing at this address',
    'Compare the address in the settings of the client: events are sent to /v1/batch, or to /v1/track and its like.',
  ],
}

/** For a code that is neither a reason nor a warning, the meaning is the code itself. */
export function helpFor(reason: string): Help {
  if (Object.hasOwn(WARNINGS, reason)) {
    const [remedy, field] = REMEDIES_OF_WARNINGS[reason as Warning]
    return { meaning: WARNINGS[reason as Warning], remedy, severity: 'warning', field: field ?? null }
  }
  const [meaning, usual] = OF_REQUESTS[reason] ?? [REASONS[reason as Reason] ?? reason, 'Look at an example.']
  const [remedy, field] = REMEDIES[reason as Reason] ?? [usual]
  return {
    meaning,
    remedy,
    severity: reason === 'duplicate' ? 'info' : 'error',
    field: field ?? null,
  }
}
