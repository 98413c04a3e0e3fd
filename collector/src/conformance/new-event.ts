import { textsOf } from '../record.ts'
import type { NewEvent, NewRequest } from '../store/ports.ts'

export function newEvent(messageId: string, fields: Partial<NewEvent> = {}): NewEvent {
  const receivedAtMs = fields.receivedAtMs ?? 1_000_000
  return {
    source: 'shop',
    reason: null,
    kind: 'track',
    ...textsOf(() => null),
    name: 'Größe gewählt',
    userId: 'zoë',
    messageId,
    receivedAtMs,
    receivedAt: new Date(receivedAtMs).toISOString(),
    timestampMs: 1_000_000,
    body: JSON.stringify({ messageId }),
    deliveries: [],
    ...fields,
  }
}

export function newRequest(id: string, fields: Partial<NewRequest> = {}): NewRequest {
  return {
    id,
    atMs: 1_000_000,
    method: 'POST',
    path: '/v1/batch',
    status: 200,
    source: 'shop',
    address: '127.0.0.1',
    userAgent: 'node',
    library: 'trackpost/0.1.0',
    contentType: 'application/json',
    contentEncoding: null,
    bodyBytes: 10,
    inflatedBytes: 10,
    durationMs: 1.5,
    retryCount: null,
    events: 1,
    accepted: 1,
    problem: null,
    fault: null,
    headers: { 'user-agent': 'node' },
    body: '{}',
    bodyIsCut: false,
    ...fields,
  }
}
