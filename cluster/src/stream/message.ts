import { createHash } from 'node:crypto'
import type { NewEvent } from 'trackpost-collector'

/** A larger body of an event that was not accepted is left out: only a debugger shows it. */
const MAX_BODY_CHARACTERS = 250_000

/** An accepted event on its way to a destination. */
export type StreamEvent = NewEvent & {
  /** JSON text of the whole message. */
  body: string
}

/**
 * Identifies an event for good: a hash of its source and messageId. It is the `Nats-Msg-Id` of the stream and the
 * `Idempotency-Key` of webhooks.
 */
export function keyOf({ source, messageId }: Pick<NewEvent, 'source' | 'messageId'>): string {
  return createHash('sha256').update(`${source}\0${messageId}`).digest('base64url')
}

/** One line with the fields of the event, and one with its body, which is JSON text already and is not escaped again. */
export function encode({ body, deliveries: _, ...fields }: NewEvent): Buffer {
  const isTooLong = fields.reason !== null && (body?.length ?? 0) > MAX_BODY_CHARACTERS
  // The text has no line breaks of its own, since the collector wrote it.
  return Buffer.from(`${JSON.stringify(fields)}\n${isTooLong ? '' : (body ?? '')}`)
}

/** @throws Error when another program, or a front of another version, has written the message. */
export function decode(payload: Uint8Array): NewEvent {
  const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString()
  const end = text.indexOf('\n')
  const fields = parsed(text.slice(0, Math.max(0, end)))
  const isEvent = typeof fields?.source === 'string' && typeof fields.receivedAt === 'string'
  if (!isEvent) throw new Error('the message was not written by a front of this version')
  return { ...fields, deliveries: [], body: end + 1 === text.length ? null : text.slice(end + 1) }
}

/** @throws Error when the message is no accepted event. */
export function decodeAccepted(payload: Uint8Array): StreamEvent {
  const { body, ...event } = decode(payload)
  if (body === null || typeof event.messageId !== 'string') throw new Error('the event has no message')
  return { ...event, body }
}

function parsed(text: string): NewEvent | undefined {
  try {
    return JSON.parse(text) as NewEvent
  } catch {
    return undefined
  }
}
