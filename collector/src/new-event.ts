import type { EventTexts, Kind, Reason, Violation, Warning } from './record.ts'

/** Whether an event will be sent to one destination, decided before the event is stored. */
export interface PlannedDelivery {
  destination: string
  /** Undefined = the event is sent. */
  skippedBecause?: string
}

/** The fields of a message in which it differs from the message that the client sent. */
export interface SentDifference {
  /** The client did not send these. */
  added: readonly string[]
  /** The values that the client sent. */
  changed: Readonly<Record<string, unknown>>
  /** Mainly credentials; their values are not stored. */
  removed: readonly string[]
}

/** An event as it was received and judged, before it is stored. It is plain data: JSON keeps all of it. */
export interface NewEvent extends EventTexts {
  /** Name of the source; empty if the caller is unknown. */
  source: string
  /** Why the event is not accepted. Null = it is accepted, unless its messageId is known. */
  reason: Reason | null
  /** `batch` for a refused request that could not be split into events; null if the kind is unknown. */
  kind: Kind | 'batch' | null
  /** Milliseconds since the Unix epoch. */
  receivedAtMs: number
  /** `receivedAtMs` in ISO 8601. */
  receivedAt: string
  /** Time of the event, corrected for the client's clock; milliseconds since the Unix epoch. */
  timestampMs: number
  /** JSON text of the whole message, with the fields of its batch; null for a request that could not be read. */
  body: string | null
  deliveries: readonly PlannedDelivery[]
  /** Id of the request in the store of this process; undefined for an event from elsewhere. */
  requestId?: number | undefined
  /** Undefined when the message that the client sent is not known. */
  sent?: SentDifference
  /** Where the message violates the tracking plan. */
  violations?: readonly Violation[]
  warnings?: readonly Warning[]
}
