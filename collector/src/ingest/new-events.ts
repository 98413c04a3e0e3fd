import type { Caller } from '../auth/caller.ts'
import type { Config } from '../config/schema.ts'
import { planDeliveries } from '../destinations/select.ts'
import type { NewEvent } from '../new-event.ts'
import { isKind, type Kind, NO_TEXTS, type Reason, type Violation } from '../record.ts'
import { type Envelope, readMessage } from './message.ts'
import type { RefusedItem } from './read-request.ts'

/** A caller whose events are recorded. Those of an unknown write key are recorded as not accepted. */
export type KnownCaller = Extract<Caller, { outcome: 'source' | 'unknown' }>

export interface PlanChecker {
  check(kind: Kind, name: string | null, message: { properties?: unknown; traits?: unknown }): Violation[]
}

export interface RequestContext {
  /** The kind that the path of the request names; undefined in a batch. */
  pathKind: Kind | undefined
  envelope: Envelope
  caller: KnownCaller
  config: Config
  plan: PlanChecker | undefined
  /** Undefined in a process that records no requests. */
  requestId: number | undefined
}

/**
 * For a message of a request that gets 200. Other requests need `refusedMessage`.
 *
 * @param bytes Size of the message.
 * @param isRounded Whether a number of the message was rounded.
 */
export function newEvent(item: unknown, bytes: number, context: RequestContext, isRounded = false): NewEvent {
  const { pathKind, envelope, caller, config, plan, requestId } = context
  const message = readMessage(item, pathKind, envelope, bytes)
  if (isRounded) message.warnings.push('number')
  const source = caller.outcome === 'source' ? caller.source : undefined
  const reason = caller.outcome === 'unknown' ? caller.reason : message.reason
  const { kind, name, userId, anonymousId, messageId, timestampMs, body, sent, warnings } = message
  // Written as one object literal: spreading several objects took a third of the whole time for an event.
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
    deliveries:
      reason !== null || source === undefined
        ? []
        : planDeliveries(config.destinations, source, message, envelope.receivedAtMs),
  }
  if (requestId !== undefined) event.requestId = requestId
  if (warnings.length > 0) event.warnings = warnings
  if (plan === undefined || reason !== null || message.kind === null) return event
  const violations = plan.check(message.kind, message.name, item as object)
  return violations.length === 0 ? event : { ...event, violations }
}

/** How much of an event over the size limit is kept, so that a developer can recognise the event. */
const PREVIEW_CHARACTERS = 2000
const PREVIEW_FIELD_CHARACTERS = 200

type Received = Pick<NewEvent, 'receivedAtMs' | 'source' | 'requestId'>

export function refusedRequest(reason: Reason, kind: Kind | 'batch', received: Received): NewEvent {
  return {
    ...received,
    reason,
    kind,
    ...NO_TEXTS,
    receivedAt: new Date(received.receivedAtMs).toISOString(),
    timestampMs: received.receivedAtMs,
    body: null,
    deliveries: [],
  }
}

export function refusedMessage({ value, reason }: RefusedItem, received: Received): NewEvent {
  const event = refusedRequest(reason, 'batch', received)
  const type = (value as { type?: unknown } | null)?.type
  const envelope = {
    ...{ inheritance: undefined, sentAt: undefined, sentAtMs: undefined, remoteAddress: '', warnings: [] },
    ...{ receivedAtMs: event.receivedAtMs, receivedAt: event.receivedAt },
  }
  const message = readMessage(value, isKind(type) ? type : undefined, envelope, 0)
  const beginning = message.body.slice(0, PREVIEW_CHARACTERS)
  return {
    ...event,
    kind: message.kind,
    name: beginningOf(message.name),
    userId: beginningOf(message.userId),
    anonymousId: beginningOf(message.anonymousId),
    messageId: beginningOf(message.messageId),
    body: reason === 'event_too_large' ? JSON.stringify({ refused: reason, beginning }) : message.body,
  }
}

function beginningOf(text: string | null): string | null {
  return text?.slice(0, PREVIEW_FIELD_CHARACTERS) ?? null
}
