import type { NewEvent } from 'trackpost-collector'
import type { StreamEvent } from '../../src/stream/message.ts'

/** An accepted event as a front puts it into the stream. */
export function newEvent(
  messageId: string,
  given: Partial<Omit<NewEvent, 'body'>> & { body?: string; message?: object } = {},
): StreamEvent {
  const { message, ...fields } = given
  const receivedAtMs = Date.UTC(2026, 1, 3, 4, 5, 6)
  const receivedAt = new Date(receivedAtMs).toISOString()
  const body = {
    type: 'track',
    event: 'Órder “paid”',
    userId: 'zoë',
    messageId,
    properties: { total: 12.5 },
    context: { ip: '203.0.113.7' },
    integrations: {},
    timestamp: receivedAt,
    receivedAt,
    ...message,
  }
  return {
    source: 'shop',
    reason: null,
    kind: 'track',
    name: 'Órder “paid”',
    userId: 'zoë',
    anonymousId: null,
    messageId,
    receivedAtMs,
    receivedAt,
    timestampMs: receivedAtMs,
    body: JSON.stringify(body),
    deliveries: [],
    ...fields,
  }
}
