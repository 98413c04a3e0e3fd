import { describe, expect, test } from 'vitest'
import type { HTTPResponse } from '../../src/http/client.ts'
import { cancelBody, discardBody } from '../../src/http/discard.ts'

const KIB = new Uint8Array(1_024)

/** A body of `kibibytes`, or one without an end, and what became of it. */
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

describe('discarding a body', () => {
  test.each([0, 1, 64])('one of %i KiB is read to its end', async (kibibytes) => {
    const { response, state } = bodyOf(kibibytes)

    await discardBody(response)

    expect(state).toEqual({ read: kibibytes, isCancelled: false })
  })

  // Row F28.
  test.each([66, Number.POSITIVE_INFINITY])('one of %s KiB is cancelled just past 64', async (kibibytes) => {
    const { response, state } = bodyOf(kibibytes)

    await discardBody(response)

    expect(state).toEqual({ read: 65, isCancelled: true })
  })

  test('one that breaks off is no failure', async () => {
    const body = new ReadableStream({
      pull: () => Promise.reject(new Error('terminated')),
    })

    await expect(
      discardBody({ status: 200, statusText: 'OK', body } as HTTPResponse),
    ).resolves.toBeUndefined()
  })

  test('one that somebody else reads is left alone', async () => {
    const { response, state } = bodyOf(1)
    ;(response as unknown as Response).body?.getReader()

    await discardBody(response)

    expect(state.read).toBe(0)
  })

  test('a response without a stream is read as text', async () => {
    let reads = 0
    const response = {
      status: 200,
      statusText: 'OK',
      text: async () => {
        reads++
        return ''
      },
    }

    await discardBody(response)

    expect(reads).toBe(1)
  })

  test('a response whose body is a stream of another kind, as with node-fetch, is read as text', async () => {
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
    ['a text that throws', { status: 200, text: () => JSON.parse('{') }],
    ['a text that rejects', { status: 200, text: () => Promise.reject(new Error('terminated')) }],
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
  test.each(odd)('%s is no failure', async (_label, response) => {
    await expect(discardBody(response as HTTPResponse)).resolves.toBeUndefined()
  })
})

describe('cancelling a body', () => {
  test('one that comes too late is cancelled unread', () => {
    const { response, state } = bodyOf(1)

    cancelBody(response)

    expect(state).toEqual({ read: 0, isCancelled: true })
  })

  test('a Node.js stream is destroyed', () => {
    let isDestroyed = false
    const body = {
      destroy() {
        isDestroyed = true
      },
    }

    cancelBody({ status: 200, body })

    expect(isDestroyed).toBe(true)
  })

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
  ])('%s is no failure', (_label, response) => {
    expect(() => cancelBody(response)).not.toThrow()
  })
})
