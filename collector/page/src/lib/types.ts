import type { CatalogueDetail, FoundField } from '../../../src/catalogue/answer.ts'
// The responses of the collector's API: see docs/api.md. Those of a query are imported from the store.
import type { Stats } from '../../../src/live/stats.ts'
import type { EventRecord, EventSummary } from '../../../src/record.ts'
import type { DestinationState, EventsPage, Problem, RequestsPage } from '../../../src/store/query-results.ts'

export type { Catalogue, CatalogueEntry } from '../../../src/catalogue/answer.ts'
export type { Change, ChangesAnswer as Comparison, ChangesReply } from '../../../src/changes/answer.ts'
export type { FaultRule, FaultState } from '../../../src/faults/rules.ts'
export type {
  DestinationOutcome as Outcome,
  EventRecord,
  EventSummary,
  Message,
} from '../../../src/record.ts'
export type {
  EventDetail as EventDetails,
  Loss,
  Overview,
  Problem,
  Problems,
  RequestDetail as RequestDetails,
  RequestSummary,
  RequestsPage as RequestPage,
  ShownAttempt as Attempt,
  ShownDelivery as OutcomeDetails,
  Step,
  UserDetail as UserDetails,
  UserEntry as UserSummary,
} from '../../../src/store/query-results.ts'

export type Help = Pick<Problem, 'meaning' | 'remedy' | 'severity' | 'field'>
export type Severity = Problem['severity']
export type DeliveryState = EventSummary['destinations'][number]['state']

/** What the page uses of it. */
export interface About {
  version: string
  database: string
  /** Null if any write key is accepted. */
  sources: string[] | null
  anyKey: boolean
  needsToken: boolean
}

/** `next` is the cursor of the next page. */
export type PageOf = Pick<RequestsPage, 'next' | 'head'>
export interface EventPage extends EventsPage {
  events: EventSummary[]
}

export type FieldType = FoundField['types'][number]
export interface CatalogueDetails extends CatalogueDetail {
  example: EventRecord | null
}

export interface Destination extends DestinationState {
  type: string
  target: string
  isEnabled: boolean
}

export interface Reasons {
  reasons: Record<string, string>
  warnings: Record<string, string>
  skips: Record<string, string>
  help: Record<string, Help>
}

export interface StreamMessage {
  head: string
  epoch: number
  revision: number
  /** Identifies the process of the collector: different after every start. */
  process: string
  /** Why the store is unavailable; null if it is available. */
  storeUnavailable: string | null
  /** Number of faults that the requests of clients may get at the moment. */
  faults: number
  stats: Stats
}
