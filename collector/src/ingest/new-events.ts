import type { Caller } from '../auth/caller.ts'
import type { Source } from '../auth/sources.ts'
import type { Config } from '../config/schema.ts'
import { planDeliveries } from '../destinations/select.ts'
import { isKind, type Kind, type Reason, type Violation } from '../record.ts'
import type { NewEvent } from '../store/ports.ts'
import { type Envelope, type ReadMessage, readMessage } from './message.ts'
import type { RefusedItem } from './read-request.ts'

/** A caller whose events are recorded as its own. */
export type KnownCaller = Extract<Caller, { outcome: 'source' | 'unknown' }>

/** A tracking plan, as far as events are held against one. */
export interface PlanChecker {
  /** In which ways a message is not as planned; empty when it is. */
  check(kind: Kind, name: string | null, message: { properties?: unknown; traits?: unknown }): Violation[]
}

/** The parts that all messages of a request have in common. */
export interface RequestContext {
  /** The kind that the address names; undefined in a batch. */
  pathKind: Kind | undefined
  envelope: Envelope
  caller: KnownCaller
  config: Config
  plan: PlanChecker | undefined
  /** Id of the request in the log. */
  requestId: string
}

/**
 * Makes what is recorded of one message that was answered 200.
 *
 * @param bytes Size of the item as it was sent.
 * @param exact The item by `parseExact`, when it has numbers that JavaScript does not hold.
 */
export function newEvent(item: unknown, bytes: number, context: RequestContext, exact?: unknown): NewEvent {
  const { pathKind, envelope, caller, config, plan, requestId } = context
  const message = readMessage(item, pathKind, envelope, bytes, exact)
  const source = caller.outcome === 'source' ? caller.source : undefined
  const reason = callerReason(caller, config) ?? message.reason
  const { kind, name, userId, anonymousId, messageId, timestampMs, body, sent, warnings } = message
  // In one literal: put together from others by spread, the object alone took a third of the time of judging.
  const event: NewEvent = {
    kind,
    name,
    userId,
    anonymousId,
    messageId,
    timestampMs,
    body,
    sent,
    source: source?.name ?? '',
    reason,
    receivedAtMs: envelope.receivedAtMs,
    receivedAt: envelope.receivedAt,
    deliveries: reason === null ? planFor(source, message, envelope.receivedAtMs, config) : [],
    requestId,
  }
  if (message.inherited !== undefined) event.inherited = message.inherited
  if (warnings.length > 0) event.warnings = warnings
  if (plan === undefined || reason !== null || message.kind === null) return event
  const violations = plan.check(message.kind, message.name, item as object)
  return violations.length === 0 ? event : { ...event, violations }
}

/** Why nothing of this caller is accepted, whatever it sends. */
function callerReason(caller: KnownCaller, config: Config): Reason | null {
  if (caller.outcome === 'unknown') return caller.reason
  return caller.source.region === config.region ? null : 'wrong_region'
}

function planFor(
  source: Source | undefined,
  message: ReadMessage,
  receivedAtMs: number,
  { destinations }: Config,
): NewEvent['deliveries'] {
  if (source === undefined || destinations.length === 0) return []
  return planDeliveries(destinations, source, message, receivedAtMs)
}

function emptyEvent(kind: Kind | 'batch', receivedAtMs: number): NewEvent {
  return {
    source: '',
    reason: null,
    kind,
    name: null,
    userId: null,
    anonymousId: null,
    messageId: null,
    receivedAtMs,
    receivedAt: new Date(receivedAtMs).toISOString(),
    timestampMs: receivedAtMs,
    body: null,
    deliveries: [],
  }
}

/** So much of an event over the limit is kept for people to recognise it by. */
const PREVIEW_CHARACTERS = 2000
const PREVIEW_FIELD_CHARACTERS = 200

/** Makes what is recorded of a request that was refused as a whole. */
export function refusedRequest(
  reason: Reason,
  path: Kind | 'batch',
  receivedAtMs: number,
  source: string,
  requestId: string,
): NewEvent {
  return { ...emptyEvent(path, receivedAtMs), reason, source, requestId }
}

/** Makes what is recorded of one message of a refused request. */
export function refusedMessage(
  { value, reason }: RefusedItem,
  receivedAtMs: number,
  source: string,
  requestId: string,
): NewEvent {
  const event = refusedRequest(reason, 'batch', receivedAtMs, source, requestId)
  const type = (value as { type?: unknown } | null)?.type
  const envelope = {
    inheritance: undefined,
    sentAt: undefined,
    sentAtMs: undefined,
    receivedAtMs,
    receivedAt: event.receivedAt,
    remoteAddress: '',
    warnings: [],
  }
  const message = readMessage(value, isKind(type) ? type : undefined, envelope, 0)
  const preview = (text: string | null) => text?.slice(0, PREVIEW_FIELD_CHARACTERS) ?? null
  return {
    ...event,
    kind: message.kind,
    name: preview(message.name),
    userId: preview(message.userId),
    anonymousId: preview(message.anonymousId),
    messageId: preview(message.messageId),
    body:
      reason === 'event_too_large'
        ? JSON.stringify({ refused: reason, beginning: message.body.slice(0, PREVIEW_CHARACTERS) })
        : message.body,
  }
}
