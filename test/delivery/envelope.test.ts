import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { createBatch } from '../../src/core/service.ts'
import { Envelope, loadCompression } from '../../src/delivery/envelope.ts'
import { NodeHTTPClient } from '../../src/http/node-client.ts'
import type { Item } from '../../src/line/item.ts'
import { SlabStore, totalBytes } from '../../src/line/store.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { storeAll } from '../support/stored.ts'

const batchOf = (items: Item[]) => createBatch(items, 'line')

const SENT_AT = '2026-11-20T09:30:00.000Z'
const store = new SlabStore()
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')

describe('the envelope', () => {
  test('a body consists of the messages, the write key and the time of sending, byte for byte', () => {
    const envelope = new Envelope('wk_"7Qm4"\\', store)

    const body = envelope.write(storeAll([{ event: 'Thé' }, { event: '🍰' }], store), SENT_AT)

    expect(text(body)).toBe(
      '{"batch":[{"event":"Thé"},{"event":"🍰"}],"writeKey":"wk_\\"7Qm4\\"\\\\","sentAt":"2026-11-20T09:30:00.000Z"}',
    )
  })

  test('the bytes of the envelope and of the range add up to the size of the body', () => {
    const envelope = new Envelope('wk_Zurich_7Qm4', store)
    const range = batchOf(storeAll([{ event: 'Thé' }, { event: '🍰' }, { n: 1 }], store))

    const body = envelope.write(range.items, SENT_AT)

    expect(envelope.bytes + totalBytes(range.items)).toBe(body.length)
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

test('when the compression code cannot be loaded, bodies are sent uncompressed, with one warning', async () => {
  vi.doMock('../../src/delivery/compression.ts', () => {
    throw new Error('kaputt')
  })
  const warn = vi.fn()
  const body = Buffer.from('{"batch":[]}')

  const options = { client: new NodeHTTPClient(), timeoutMs: 10_000, clock: new FakeClock() }
  const encoder = await loadCompression(options, warn)

  expect(await encoder.encode(body, {})).toEqual({ bytes: body, encoding: undefined })
  expect(warn.mock.calls).toEqual([
    ['compress', expect.stringContaining('uncompressed from now on: the code could not be loaded: ')],
  ])
  vi.doUnmock('../../src/delivery/compression.ts')
})
