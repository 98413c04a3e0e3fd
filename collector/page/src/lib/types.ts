// The responses of the collector's API: see docs/api.md. Some types are imported from the store.
import type { EventTexts, Kind, Warning } from '../../../src/record.ts'
import type { CatalogueEntry, RequestSummary } from '../../../src/store/query-results.ts'

export type { DeadLetter } from '../../../src/log/ports.ts'
export type { LogState } from '../../../src/log/state.ts'
export type {
  Catalogue,
  CatalogueEntry,
  Loss,
  Overview,
  Problem,
  RequestSummary,
  Step,
  UserDetail as UserDetails,
  UserEntry as UserSummary,
} from '../../../src/store/query-results.ts'

export type Severity = 'error' | 'warning' | 'info'
export type { Kind, Warning }
export type DeliveryState = 'pending' | 'delivered' | 'skipped' | 'failed'

export interface About {
  version: string
  startedAt: string
  region: string
  database: string
  /** Null if any write key is accepted. */
  sources: string[] | null
  anyKey: boolean
  destinations: string[]
  hasPlan: boolean
  releaseTo: string | null
  maxEvents: number | null
  canInjectFaults: boolean
  canDelete: boolean
  /** Whether the user may deliver events again, retry and release. */
  canAct: boolean
  role: 'single' | 'front' | 'worker'
  /** Null if there is no log. */
  log: string | null
  needsToken: boolean
  /** Only from a process without a store: says which process has the events. */
  message?: string
}

export interface Outcome {
  name: string
  state: DeliveryState
  reason?: string | null
  attempts: number
}

export interface EventSummary extends EventTexts {
  id: string
  seq: number
  request: string | null
  receivedAt: string
  timestamp: string | null
  source: string
  status: 'accepted' | 'rejected'
  reason: string | null
  type: Kind | 'batch' | null
  preview: Array<{ path: string; value: string | number | boolean | null }>
  violations: number
  warnings?: Warning[]
  destinations: Outcome[]
}

export interface Attempt {
  at: string
  durationMs: number
  attempt: number
  result: 'delivered' | 'retry' | 'failed'
  reason?: string | null
}

export interface OutcomeDetails extends Outcome {
  dueAt: string | null
  history: Attempt[]
}

export type Message = Record<string, unknown>

export interface Violation {
  path: string
  keyword: string
  message: string
}

export interface EventDetails extends Omit<EventSummary, 'violations' | 'destinations'> {
  message: Message | null
  /** The message as the client sent it; null if it is not known. */
  sent: Message | null
  clockSkewMs: number | null
  requestDetails: RequestSummary | null
  destinations: OutcomeDetails[]
  /** The first event with the same messageId. */
  first: (EventSummary & { message: Message | null }) | null
  repeats: Array<{ id: string; receivedAt: string; reason: string }>
  violations: Violation[]
  previous: string | null
  following: string | null
}

export interface RequestDetails extends RequestSummary {
  headers: Record<string, string | string[]>
  body: string | null
  bodyIsCut: boolean
  /** The body of the response; null if it is not known, or if there was none. */
  answer: string | null
  eventList: EventSummary[]
}

/** `next` is the cursor of the next page. */
export interface PageOf {
  next: string | null
  head: string
  isComplete: boolean
  searchedTo: string | null
}
export interface EventPage extends PageOf {
  events: EventSummary[]
}
export interface RequestPage extends PageOf {
  requests: RequestSummary[]
}

export interface FieldType {
  type: string
  format?: string
  share: number
  count: number
  example: unknown
  exampleId: string
  q: string
}

export interface Field {
  path: string
  presence: number
  type: string
  isInconsistent: boolean
  types: FieldType[]
  values: unknown[]
}

export interface CatalogueDetails extends CatalogueEntry {
  sampled: number
  fields: Field[]
  example: (EventSummary & { message: Message | null }) | null
}

export interface Destination {
  name: string
  type: string
  target: string
  isEnabled: boolean
  /** Why the events of this destination are not delivered, in one sentence; null if no fault is known. */
  warning: string | null
  pending: number
  delivered: number
  failed: number
  skipped: number
  oldestPendingAt: string | null
  nextAttemptAt: string | null
  perSecond: number
  lastError: { at: string; reason: string; eventId: string | null } | null
  failures: Array<{
    id: string
    name: string | null
    type: string | null
    reason: string | null
    attempts: number
    at: string
  }>
}

export interface Help {
  meaning: string
  remedy: string
  severity: Severity
  field: string | null
}

export interface Reasons {
  types: string[]
  reasons: Record<string, string>
  warnings: Record<string, string>
  skips: Record<string, string>
  help: Record<string, Help>
}

export interface Stats {
  accepted: number
  rejected: number
  byReason: Record<string, number>
  byType: Record<string, number>
  bySource: Record<string, number>
  perSecond: Array<{ accepted: number; rejected: number }>
  requests: number
  refused: number
}

export interface StreamMessage {
  head: string
  lastSeq: number
  epoch: number
  revision: number
  /** Identifies the process of the collector: different after every start. */
  process: string
  now: string
  /** Why the store is unavailable; null if it is available. */
  storeUnavailable: string | null
  /** Number of faults that the requests of clients may get at the moment. */
  faults: number
  stats: Stats
}

export interface FaultRule {
  id: string
  times: number | null
  remaining: number | null
  chance: number
  path: string | null
  source: string | null
  status: number | null
  headers: Record<string, string>
  body: string | null
  delay: number
  hang: boolean
  reset: boolean
}

export interface Faults {
  rules: FaultRule[]
  failRate: number
  injected: number
}
