import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Envelope } from '../../src/delivery/envelope.ts'
import { MessageStore } from '../../src/message/store.ts'
import { storeAll } from '../support/stored.ts'

const SENT_AT = '2026-11-20T09:30:00.000Z'
const store = new MessageStore()
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')

describe('the envelope', () => {
  test('a body consists of the messages, the write key and the time of sending, byte for byte', () => {
    const envelope = new Envelope('wk_"7Qm4"\\', store)

    const body = envelope.write(storeAll([{ event: 'Thé' }, { event: '🍰' }], store), SENT_AT)

    expect(text(body)).toBe(
      '{"batch":[{"event":"Thé"},{"event":"🍰"}],"writeKey":"wk_\\"7Qm4\\"\\\\","sentAt":"2026-11-20T09:30:00.000Z"}',
    )
  })

  test('the bytes of the envelope and of the messages add up to the size of the body', () => {
    const envelope = new Envelope('wk_Zurich_7Qm4', store)
    const items = storeAll([{ event: 'Thé' }, { event: '🍰' }, { n: 1 }], store)

    const body = envelope.write(items, SENT_AT)

    const bytes = items.reduce((sum, { stored }) => sum + stored.bytes, 0)
    // Two commas.
    expect(envelope.bytes + bytes + 2).toBe(body.length)
  })

  test('a body contains random messages and a random write key unchanged', () => {
    const messages = fc.array(fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })), {
      minLength: 1,
      maxLength: 8,
    })

    fc.assert(
      fc.property(messages, fc.string({ unit: 'binary' }), (messages, writeKey) => {
        const body = new Envelope(writeKey, store).write(storeAll(messages, store), SENT_AT)

        expect(text(body)).toBe(JSON.stringify({ batch: messages, writeKey, sentAt: SENT_AT }))
      }),
    )
  })

  test('listeners see the same body without the write key', () => {
    const envelope = new Envelope('wk_Zurich_7Qm4', store)

    const body = envelope.writeRedacted(storeAll([{ event: 'Thé' }], store), SENT_AT)

    expect(text(body)).toBe(`{"batch":[{"event":"Thé"}],"writeKey":"[redacted]","sentAt":"${SENT_AT}"}`)
  })
})
