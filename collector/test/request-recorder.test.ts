import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { type RequestFacts, RequestRecorder } from '../src/http/request-recorder.ts'
import type { NewRequest } from '../src/store/ports.ts'
import { fakeClock } from './support.ts'

function setUp() {
  const written: NewRequest[] = []
  const clock = fakeClock()
  let lastId = 0
  const log = { nextId: () => String(++lastId), append: (line: NewRequest) => void written.push(line) }
  return { written, clock, recorder: new RequestRecorder(log, clock) }
}

const facts: RequestFacts = {
  path: '/v1/batch',
  address: '127.0.0.1',
  isWorthIt: () => true,
  brokenOff: () => undefined,
}

function exchange(headers: Record<string, string>, status: number | undefined) {
  const request = { method: 'POST', headers } as unknown as IncomingMessage
  const response = Object.assign(new EventEmitter(), {
    headersSent: status !== undefined,
    statusCode: status ?? 200,
  }) as unknown as ServerResponse
  return { request, response }
}

test('if the client hangs up, the record still contains how many events were stored', async () => {
  const { written, recorder } = setUp()
  const { request, response } = exchange({}, undefined)
  const notes = recorder.begin(request, response, facts)
  notes.events = 2
  let end = () => {}
  const kept = new Promise<void>((resolve) => {
    end = resolve
  })
  notes.appending = kept
  void kept.then(() => {
    notes.accepted = 2
  })

  response.emit('close')
  expect(written).toEqual([])
  end()
  await recorder.settled()

  expect(written).toMatchObject([{ status: 0, events: 2, accepted: 2 }])
})

test('a write that fails after the client has hung up is recorded too', async () => {
  const { written, recorder } = setUp()
  const { request, response } = exchange({}, undefined)
  recorder.begin(request, response, facts).appending = Promise.reject(new Error('full'))

  response.emit('close')
  await recorder.settled()

  expect(written).toMatchObject([{ status: 0, accepted: 0 }])
})

test('a request is recorded with its notes, and without credentials', () => {
  const { written, clock, recorder } = setUp()
  const { request, response } = exchange(
    {
      'user-agent': 'node',
      'content-type': 'text/plain',
      'content-encoding': 'gzip',
      'x-retry-count': '2',
      authorization: 'Basic c2VjcmV0Og==',
      cookie: 'a=secret',
    },
    400,
  )

  const notes = recorder.begin(request, response, facts)
  notes.bodyBytes = 20
  notes.tookBody(Buffer.from('{"writeKey":"secret","batch":[oops]}'))
  clock.advance(12)
  response.emit('close')

  expect(written).toMatchObject([
    {
      id: '1',
      method: 'POST',
      path: '/v1/batch',
      status: 400,
      userAgent: 'node',
      contentType: 'text/plain',
      contentEncoding: 'gzip',
      retryCount: 2,
      bodyBytes: 20,
      inflatedBytes: 36,
      durationMs: 12,
      body: '{"writeKey":"[redacted]","batch":[oops]}',
      bodyIsCut: false,
    },
  ])
  expect(JSON.stringify(written)).not.toMatch(/secret|c2VjcmV0/)
})

test('2,048 bytes of a long body are recorded, and a write key that is cut off there is redacted', () => {
  const { recorder } = setUp()
  const { request, response } = exchange({}, 200)
  const notes = recorder.begin(request, response, facts)

  notes.tookBody(Buffer.from(`${' '.repeat(2030)}"writeKey":"secret"`))

  expect(notes.bodyIsCut).toBe(true)
  expect(notes.body?.trim()).toBe('"writeKey":"[redacted]')
})

test('a connection that ends early is recorded with status 0, or with the status of its error response', () => {
  const { written, recorder } = setUp()
  const gone = exchange({}, undefined)
  const late = exchange({ 'x-retry-count': 'many' }, undefined)

  recorder.begin(gone.request, gone.response, facts)
  recorder.begin(late.request, late.response, {
    ...facts,
    brokenOff: () => ({ status: 408, code: 'timeout', message: 'the request took too long' }),
  })
  gone.response.emit('close')
  late.response.emit('close')
  recorder.broken('192.0.2.1', {
    status: 431,
    code: 'headers_too_large',
    message: 'the headers are over 16 KB',
  })

  expect(written).toMatchObject([
    { status: 0, problem: null },
    { status: 408, problem: { code: 'timeout' }, retryCount: null },
    { status: 431, address: '192.0.2.1', method: '', problem: { code: 'headers_too_large' } },
  ])
})

test('of refused requests, at most 200 a second are recorded; of other requests, all', () => {
  const { written, clock, recorder } = setUp()
  const send = (times: number, status: number) => {
    for (let i = 0; i < times; i++) {
      const { request, response } = exchange({}, status)
      recorder.begin(request, response, facts)
      response.emit('close')
    }
  }
  const count = (status: number) => written.filter((line) => line.status === status).length

  send(500, 401)
  send(500, 200)
  expect([count(401), count(200)]).toEqual([200, 500])
  clock.advance(1000)
  send(500, 401)
  expect(count(401)).toBe(400)
})
