import type { Help, Severity } from '../help.ts'
import type { EventRecord, EventSummary, Message, Violation } from '../record.ts'
import type { NewRequest } from './new-request.ts'

interface Page {
  /** Cursor of the next page; null = this is the last page. */
  next: string | null
  /** Cursor of the newest event or request when the page was read. */
  head: string
}

export interface EventsPage extends Page {
  events: Array<EventSummary | EventRecord>
}

/** `offset`, `line` and `column` are null when the mistake has no position. */
export interface ShownProblem {
  code: string
  message: string
  offset: number | null
  line: number | null
  column: number | null
}

export interface RequestSummary
  extends Omit<
    NewRequest,
    'id' | 'at' | 'events' | 'accepted' | 'repeated' | 'problem' | 'headers' | 'body' | 'bodyIsCut' | 'answer'
  > {
  id: string
  at: string
  events: { total: number; accepted: number; rejected: number; repeated: number }
  problem: ShownProblem | null
}

export interface RequestsPage extends Page {
  requests: RequestSummary[]
}

export interface RequestDetail extends RequestSummary {
  headers: Record<string, string>
  body: string | null
  bodyIsCut: boolean
  /** The body of the response; null if there was none, or if it is not known. */
  answer: string | null
  eventList: EventSummary[]
  next: string | null
}

export interface ShownAttempt {
  at: string
  durationMs: number
  attempt: number
  result: 'delivered' | 'retry' | 'failed'
  reason?: string
}

export interface ShownDelivery {
  name: string
  state: string
  reason?: string
  attempts: number
  dueAt: string | null
  history: ShownAttempt[]
}

/** The differences between the stored message and the message sent. */
export interface ShownDifference {
  added: string[]
  changed: Array<{ path: string; sent: unknown; kept: unknown }>
  removed: string[]
}

export interface EventDetail extends Omit<EventRecord, 'destinations' | 'violations'> {
  sent: Message | null
  difference: ShownDifference | null
  clockSkewMs: number | null
  requestDetails: RequestSummary | null
  destinations: ShownDelivery[]
  first: EventRecord | null
  repeats: Array<{ id: string; receivedAt: string; reason: string | null }>
  violations: Violation[]
  previous: string | null
  following: string | null
}

export interface UserEntry {
  id: string
  userId: string | null
  anonymousId: string | null
  /** The traits `name` and `email` of the newest `identify` with traits; null = not known. */
  name: string | null
  email: string | null
  count: number
  lastSeen: string
}

export interface UsersPage {
  users: UserEntry[]
  next: string | null
}

export interface UserLink {
  from: string
  to: string
  by: string
  at: string
  eventId: string
}

export interface TraitChange {
  path: string
  from: unknown
  to: unknown
}

export interface UserDetail {
  id: string
  userIds: string[]
  anonymousIds: string[]
  links: UserLink[]
  firstSeen: string | null
  lastSeen: string | null
  count: number
  traits: Record<string, unknown>
  traitHistory: Array<{ at: string; eventId: string; changes: TraitChange[] }>
  groups: Array<{ groupId: string; traits: Record<string, unknown>; lastSeen: string }>
  /** How many traits, changes and groups were found but left out; the newest are there. */
  more: { traits: number; changes: number; groups: number }
  events: EventSummary[]
  next: string | null
}

export interface DestinationState {
  name: string
  pending: number
  delivered: number
  failed: number
  skipped: number
  oldestPendingAt: string | null
  nextAttemptAt: string | null
  perSecond: number
  lastError: { at: string; reason: string; eventId: string } | null
  failures: Array<{
    id: string
    name: string | null
    type: string | null
    reason: string
    attempts: number
    at: string | null
  }>
}

export interface Step {
  name: 'received' | 'accepted' | 'filtered' | 'delivered'
  unit: 'events' | 'deliveries'
  count: number
  perSecond: number
  lost: number
  pending?: number
  /** Of step `accepted`: events that were stored before. They are neither in `count` nor in `lost`. */
  repeated?: number
}

export interface Loss {
  step: Step['name']
  destination?: string
  reason: string
  count: number
  severity: Severity
  q: string
}

export interface Overview {
  from: string
  to: string
  bucketMs: number
  requests: { total: number; refused: number }
  steps: Step[]
  losses: Loss[]
  /** `repeated`: the events that were left out because the same event was stored before. */
  series: Array<{ at: string; accepted: number; rejected: number; repeated: number }>
}

export interface Problem extends Help {
  kind: 'event' | 'request' | 'delivery' | 'plan'
  reason: string
  count: number
  lastSeen: string
  sources: Array<{ name: string; count: number }>
  example: string | null
  q: string
}

export interface Problems {
  problems: Problem[]
}
