import { Readable } from 'node:stream'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import type { HTTPResponse } from '../../src/http/client.ts'
import { BodyReader, cancelBody, readAll } from '../../src/http/response.ts'
import { THROWING } from '../support/odd-values.ts'

const KIB = new Uint8Array(1_024)

/** `state.read` counts KiB. */
function bodyOf(kibibytes: number): {
  response: HTTPResponse
  state: { read: number; isCancelled: boolean }
} {
  const state = { read: 0, isCancelled: false }
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (state.read >= kibibytes) return controller.close()
        state.read++
        controller.enqueue(KIB)
      },
      cancel() {
        state.isCancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { response: { status: 200, statusText: 'OK', body } as HTTPResponse, state }
}

function discardBody(response: HTTPResponse): Promise<Error | undefined> {
  return new BodyReader(0).read(response)
}

describe('discarding a body', () => {
  test.each([0, 1, 64])('reads a body of %i KiB to its end', async (kibibytes) => {
    const { response, state } = bodyOf(kibibytes)

    await discardBody(response)

    expect(state).toEqual({ read: kibibytes, isCancelled: false })
  })

  // test/faults/README.md, row F28.
  test.each([66, Number.POSITIVE_INFINITY])(
    'cancels a body of %s KiB after reading 65 KiB',
    async (kibibytes) => {
      const { response, state } = bodyOf(kibibytes)

      await discardBody(response)

      expect(state).toEqual({ read: 65, isCancelled: true })
    },
  )

  test.each([
    [new Error('terminated'), 'terminated'],
    [THROWING, 'the response body broke off'],
  ])('does not fail for a body that breaks off', async (reason, message) => {
    const body = new ReadableStream({ pull: () => Promise.reject(reason) })

    const error = await discardBody({ status: 200, statusText: 'OK', body } as HTTPResponse)

    expect(error?.message).toBe(message)
  })

  test('a response whose body is not a web stream, as with node-fetch, is read with text()', async () => {
    let reads = 0
    const response = {
      status: 200,
      statusText: 'OK',
      body: { pipe() {} },
      text: async () => {
        reads++
        return ''
      },
    }

    await discardBody(response)

    expect(reads).toBe(1)
  })

  const odd: [string, unknown][] = [
    ['no body and no text', { status: 200 }],
    ['a null body', { status: 204, body: null }],
    ['a text() that throws', { status: 200, text: () => JSON.parse('{') }],
    ['a text() that rejects', { status: 200, text: () => Promise.reject(new Error('terminated')) }],
    [
      'a body that throws',
      {
        get body() {
          throw new Error('non')
        },
      },
    ],
    ['a body of the wrong type', { status: 200, body: 'OK' }],
  ]
  test.each(odd)('discarding %s does not reject', async (_label, response) => {
    await discardBody(response as HTTPResponse)
  })

  test('a stream that nobody can read is destroyed, so that its connection is free', async () => {
    const body = new Readable({ read() {} })

    await discardBody({ status: 200, statusText: 'OK', body } as HTTPResponse)

    expect(body.destroyed).toBe(true)
  })

  test('bytes of another realm count as bytes', async () => {
    const bytes = runInNewContext('Uint8Array.from([79, 75])')

    expect(await readAll({ body: new ReadableStream({ start: (to) => close(to, bytes) }) })).toBe('OK')
  })
})

function close(stream: ReadableStreamDefaultController, chunk: Uint8Array): void {
  stream.enqueue(chunk)
  stream.close()
}

describe('keeping the first bytes', () => {
  test.each([
    ['a short body is kept as a whole', 1_024, 'échec', 'échec'],
    ['a long body is kept up to the limit', 4, 'abcdef', 'abcd'],
    ['a character that the limit cuts in two is left out', 3, 'aéé', 'aé'],
    ['with a limit of 0, nothing is kept', 0, 'abcdef', ''],
  ])('%s', async (_label, bytes, text, kept) => {
    const reader = new BodyReader(bytes)

    await reader.read({ text: async () => text })

    expect(reader.text).toBe(kept)
  })

  test('the beginning of a body that breaks off or is too long is kept', async () => {
    const broken = new BodyReader(1_024)
    const long = new BodyReader(4)

    const errors = [
      await broken.read({
        body: new ReadableStream({
          start: (stream) => stream.enqueue(new TextEncoder().encode('Bad Gateway')),
          pull: () => Promise.reject(new Error('terminated')),
        }),
      }),
      await long.read({ text: async () => 'x'.repeat(70_000) }),
    ]

    expect([broken.text, long.text]).toEqual(['Bad Gateway', 'xxxx'])
    expect(errors.map((error) => error?.message)).toEqual([
      'terminated',
      'the response body is longer than 65536 bytes',
    ])
  })
})

describe('cancelling a body', () => {
  test.each([
    ['undefined', undefined],
    ['null', null],
    ['text', 'OK'],
    ['a null body', { body: null }],
    ['a cancel that throws', { body: { cancel: () => JSON.parse('{') } }],
    ['a cancel that rejects', { body: { cancel: () => Promise.reject(new Error('locked')) } }],
    [
      'a body that throws',
      {
        get body() {
          throw new Error('non')
        },
      },
    ],
  ])('does not fail for %s', (_label, response) => {
    expect(() => cancelBody(response)).not.toThrow()
  })
})
