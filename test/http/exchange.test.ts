import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { HTTPClient, HTTPClientRequest, HTTPResponse } from '../../src/http/client.ts'
import {
  type Abort,
  type Answer,
  answerWithin,
  type ExchangeRequest,
  exchange,
} from '../../src/http/exchange.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

const REQUEST = {
  url: 'https://api.segment.io/v1/batch',
  headers: { 'Content-Type': 'application/json' },
  body: '{"batch":[]}',
  timeoutMs: 10_000,
  keptBytes: 0,
}
const CLOSED = new Error('the client was closed')

interface Watched {
  readonly clock: FakeClock
  readonly abort: Abort
  /** The request that the client got. */
  readonly request: HTTPClientRequest
  result: Answer | undefined
  isFinished: boolean
}

function start(
  makeRequest: (request: HTTPClientRequest) => unknown,
  clock = new FakeClock(),
  more: Partial<ExchangeRequest> = {},
): Watched {
  let request: HTTPClientRequest | undefined
  const client: HTTPClient = {
    makeRequest(given) {
      request = given
      return makeRequest(given) as Promise<HTTPResponse>
    },
  }
  const watched = { clock, result: undefined, isFinished: false } as unknown as Watched
  const onFree = (): void => {
    watched.isFinished = true
  }
  const begin = (done: (answer: Answer) => void): Abort => {
    const abort = exchange(client, { ...REQUEST, ...more, onFree }, clock, done)
    Object.assign(watched, { abort, request })
    return abort
  }
  void answerWithin(begin, REQUEST.timeoutMs, clock).then((answer) => {
    watched.result = answer
  })
  return watched
}

function deferred<T>() {
  let resolve: (value: T) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}

const ok = (more: object = {}): HTTPResponse => ({
  status: 200,
  statusText: 'OK',
  headers: {},
  text: async () => '',
  ...more,
})

failOnUnhandledRejections()

const TIMED_OUT = { status: undefined, cause: { message: 'no response within 10000 ms' } }

describe('a successful exchange', () => {
  test('passes the whole request to the client', () => {
    const { request } = start(() => Promise.resolve(ok()))

    expect(request).toEqual({
      url: REQUEST.url,
      method: 'POST',
      headers: REQUEST.headers,
      body: REQUEST.body,
      httpRequestTimeout: 10_000,
      signal: expect.any(AbortSignal),
    })
  })

  test('returns the response with the headers, and ends with the body', async () => {
    const body = deferred<string>()
    const watched = start(() => Promise.resolve(ok({ text: () => body.promise, headers: { date: 'x' } })))

    await settled()
    expect(watched.result).toEqual({ status: 200, statusText: 'OK', headers: { date: 'x' }, body: '' })
    expect(watched.isFinished).toBe(false)
    body.resolve('{}')
    await settled()

    expect(watched.isFinished).toBe(true)
    expect(watched.clock.timerCount).toBe(0)
    expect(watched.request.signal?.aborted).toBe(false)
  })
})

describe('the deadline', () => {
  test('ends an exchange without a response, and aborts it', async () => {
    const watched = start(() => new Promise(() => {}))

    await watched.clock.advance(9_999)
    expect(watched.result).toBeUndefined()
    await watched.clock.advance(1)
    await settled()

    expect(watched.result).toMatchObject({
      status: undefined,
      cause: { message: 'no response within 10000 ms' },
    })
    expect(watched.isFinished).toBe(true)
    expect(watched.request.signal?.aborted).toBe(true)
    expect(watched.clock.timerCount).toBe(0)
  })

  test('discards a later response unread', async () => {
    const late = deferred<HTTPResponse>()
    const watched = start(() => late.promise)
    let isCancelled = false
    await watched.clock.advance(10_000)

    const body = new ReadableStream({
      cancel() {
        isCancelled = true
      },
    })
    late.resolve(ok({ body }))
    await settled()

    expect(watched.result).toMatchObject(TIMED_OUT)
    expect(isCancelled).toBe(true)
  })

  test('ends an endless body a second after the headers, and the status counts', async () => {
    const watched = start(() => ok({ text: () => new Promise(() => {}) }))

    await watched.clock.advance(999)
    expect(watched.result?.status).toBe(200)
    expect(watched.isFinished).toBe(false)
    await watched.clock.advance(1)
    await settled()

    expect(watched.isFinished).toBe(true)
    expect(watched.request.signal?.aborted).toBe(true)
    expect(watched.result?.status).toBe(200)
    expect(watched.clock.timerCount).toBe(0)
  })

  test('covers the body too', async () => {
    const head = deferred<HTTPResponse>()
    const watched = start(() => head.promise)
    await watched.clock.advance(REQUEST.timeoutMs - 300)
    head.resolve(ok({ text: () => new Promise(() => {}) }))

    await watched.clock.advance(299)
    expect(watched.isFinished).toBe(false)
    await watched.clock.advance(1)
    await settled()

    expect([watched.isFinished, watched.request.signal?.aborted]).toEqual([true, true])
  })
})

describe('F20: a client that misbehaves', () => {
  const failures: [string, () => unknown, unknown][] = [
    [
      'throws at once',
      () => {
        throw new Error('sofort')
      },
      expect.objectContaining({ message: 'sofort' }),
    ],
    [
      'throws undefined',
      () => {
        throw undefined
      },
      undefined,
    ],
    ['rejects', () => Promise.reject(new Error('refusé')), expect.objectContaining({ message: 'refusé' })],
    ['rejects with undefined', () => Promise.reject(undefined), undefined],
    ['answers undefined', () => undefined, expect.any(TypeError)],
    ['answers null', () => Promise.resolve(null), expect.any(TypeError)],
    ['answers text', () => 'OK', expect.any(TypeError)],
    ['answers without a status', () => ({}), expect.any(TypeError)],
    ['answers with a status that is text', () => ok({ status: '200' }), expect.any(TypeError)],
    ['answers with a status that is a fraction', () => ok({ status: 200.5 }), expect.any(TypeError)],
    ['answers with NaN', () => ok({ status: Number.NaN }), expect.any(TypeError)],
    [
      'answers with a status that throws',
      () => ({
        get status() {
          throw new Error('non')
        },
      }),
      expect.any(TypeError),
    ],
    [
      'answers with a then that throws',
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: the very object under test
        get then() {
          throw new Error('non')
        },
      }),
      expect.objectContaining({ message: 'non' }),
    ],
  ]

  test.each(failures)('gives no response when it %s', async (_label, makeRequest, cause) => {
    const watched = start(makeRequest)

    await settled()

    expect(watched.result).toEqual({ status: undefined, cause })
    expect(watched.isFinished).toBe(true)
    expect(watched.clock.timerCount).toBe(0)
  })

  test.each(['statusText', 'headers'])('ends the exchange when its response throws at %s', async (name) => {
    const response = ok()
    Object.defineProperty(response, name, {
      get() {
        throw new Error('non')
      },
    })
    const watched = start(() => response)

    await settled()

    expect(watched.result).toBeDefined()
    expect(watched.isFinished).toBe(true)
    expect(watched.clock.timerCount).toBe(0)
  })

  test('returns a malformed response: its body is cancelled, which frees the connection', async () => {
    let isCancelled = false
    const body = new ReadableStream({
      cancel() {
        isCancelled = true
      },
    })
    start(() => ok({ status: '200', body }))

    await settled()

    expect(isCancelled).toBe(true)
  })
})

// test/faults/README.md, row S18.
describe('a body that does not end is cancelled even if the client ignores its signal', () => {
  test.each([
    ['when its timeout has passed', (watched: Watched) => watched.clock.advance(1_000)],
    ['when it is aborted', async (watched: Watched) => watched.abort(CLOSED)],
  ])('%s', async (_, end) => {
    const cancelled: string[] = []
    const stream = new ReadableStream({ cancel: () => void cancelled.push('of the web') })
    const nodeStream = new Readable({ read() {} })
    nodeStream.on('close', () => cancelled.push('of Node.js'))

    for (const body of [stream, nodeStream]) {
      const watched = start(() => ok({ body, text: () => new Promise(() => {}) }))
      await settled()
      expect([watched.result?.status, watched.isFinished]).toEqual([200, false])
      await end(watched)
      await settled()
      expect([watched.isFinished, watched.clock.timerCount]).toEqual([true, 0])
    }

    expect(cancelled).toEqual(['of the web', 'of Node.js'])
  })

  test('a body whose cancel throws does not prevent the end of the exchange', async () => {
    const reader = {
      read: () => new Promise(() => {}),
      cancel() {
        throw new Error('non')
      },
    }
    const watched = start(() => ok({ body: { getReader: () => reader } }))

    await watched.clock.advance(1_000)
    await settled()

    expect([watched.result?.status, watched.isFinished]).toEqual([200, true])
  })
})

describe('the body of a response', () => {
  const failed = (text: () => Promise<string>): HTTPResponse => ok({ status: 503, statusText: 'Busy', text })

  test('is returned up to 1,024 bytes with an error status', async () => {
    const watched = start(() => failed(async () => 'x'.repeat(2_000)))

    await settled()

    expect(watched.result).toMatchObject({ status: 503, body: 'x'.repeat(1_024) })
  })

  test('is returned up to the bytes that have arrived when the exchange is aborted', async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode('désolé')),
    })
    const watched = start(() => ({ status: 502, statusText: '', body }))
    await settled()

    watched.abort(CLOSED)
    await settled()

    expect(watched.result).toMatchObject({ status: 502, body: 'désolé' })
  })

  test('is returned with a 2xx only if the caller asks for it', async () => {
    const respond = () => ok({ text: async () => '{"success":true}' })
    const unwanted = start(respond)
    const wanted = start(respond, new FakeClock(), { keptBytes: 9 })

    await settled()

    expect(unwanted.result).toMatchObject({ body: '' })
    expect(wanted.result).toMatchObject({ body: '{"success' })
  })
})

describe('the body of a request', () => {
  const text = '{"event":"Commande passée"}'
  const bytes = new TextEncoder().encode(text)

  test('is text for a client that does not support bytes', () => {
    expect(start(() => ok(), new FakeClock(), { body: bytes }).request.body).toBe(text)
  })

  test.each([
    [true, bytes],
    [false, text],
  ])('consists of bytes only if the client takes bytes: %s', async (isWilling, body) => {
    let given: unknown
    const client = {
      takesBytes: () => isWilling,
      async makeRequest(request: HTTPClientRequest<string | Uint8Array>) {
        given = request.body
        return ok()
      },
    }

    await new Promise((done) => exchange(client, { ...REQUEST, body: bytes }, new FakeClock(), done))

    expect(given).toEqual(body)
  })
})

describe('aborting', () => {
  test('ends the exchange at once, and leaves no timer', async () => {
    const watched = start(() => new Promise(() => {}))

    watched.abort(CLOSED)
    await settled()

    expect(watched.result).toMatchObject({ status: undefined })
    expect(watched.isFinished).toBe(true)
    expect(watched.request.signal?.aborted).toBe(true)
    expect(watched.clock.timerCount).toBe(0)
  })

  test('has no effect after the end', async () => {
    const watched = start(() => ok())
    await settled()

    watched.abort(CLOSED)
    await settled()

    expect(watched.result?.status).toBe(200)
  })
})
