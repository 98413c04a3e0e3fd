import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Batch, Envelope, MAX_BODY_BYTES } from '../../src/delivery/batch.ts'
import { storeAll } from '../support/stored.ts'

const SENT_AT = '2026-11-20T09:30:00.000Z'
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')

describe('the envelope', () => {
  test('a body is the messages, the write key and the time of sending, byte for byte', () => {
    const envelope = new Envelope('wk_"7Qm4"\\')

    const body = envelope.write(storeAll([{ event: 'Thé' }, { event: '🍰' }]), SENT_AT)

    expect(text(body)).toBe(
      '{"batch":[{"event":"Thé"},{"event":"🍰"}],"writeKey":"wk_\\"7Qm4\\"\\\\","sentAt":"2026-11-20T09:30:00.000Z"}',
    )
  })

  test('its bytes and those of a batch are the bytes of the body', () => {
    const envelope = new Envelope('wk_Zurich_7Qm4')
    const batch = new Batch(storeAll([{ event: 'Thé' }, { event: '🍰' }, { n: 1 }]))

    const body = envelope.write(batch.entries, SENT_AT)

    expect(envelope.bytes + batch.bytes).toBe(body.length)
  })

  test('a body is what it holds, whatever that is', () => {
    const messages = fc.array(fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })), {
      minLength: 1,
      maxLength: 8,
    })

    fc.assert(
      fc.property(messages, fc.string({ unit: 'binary' }), (messages, writeKey) => {
        const body = new Envelope(writeKey).write(storeAll(messages), SENT_AT)

        expect(text(body)).toBe(JSON.stringify({ batch: messages, writeKey, sentAt: SENT_AT }))
      }),
    )
  })

  test('those who look on see the same body without the key', () => {
    const envelope = new Envelope('wk_Zurich_7Qm4')

    const body = envelope.writeRedacted(storeAll([{ event: 'Thé' }]), SENT_AT)

    expect(text(body)).toBe(`{"batch":[{"event":"Thé"}],"writeKey":"[redacted]","sentAt":"${SENT_AT}"}`)
  })

  test('the limit of a body is that of both readings of 500 KB', () => {
    expect(MAX_BODY_BYTES).toBe(500_000)
  })
})

describe('the time of a batch', () => {
  test('a batch that has neither failed nor been told to wait never expires', () => {
    expect(new Batch([]).expiresAtMs).toBe(Number.POSITIVE_INFINITY)
  })

  test('of its two ends the earlier counts', () => {
    const batch = new Batch([])
    batch.limitedUntilMs = 5_000
    batch.backoffUntilMs = 3_000

    expect(batch.expiresAtMs).toBe(3_000)
  })
})
