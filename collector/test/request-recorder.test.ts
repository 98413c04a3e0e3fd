import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { RequestNotes } from '../src/http/request-notes.ts'
import { type RequestFacts, RequestRecorder } from '../src/http/request-recorder.ts'
import type { NewRequest } from '../src/store/new-request.ts'
import { fakeClock } from './support.ts'

function setUp() {
  const written: NewRequest[] = []
  const clock = fakeClock()
  let lastId = 0
  const log = {
    nextRequestId: () => ++lastId,
    appendRequest: (line: NewRequest) => void written.push(line),
  }
  return { written, clock, recorder: new RequestRecorder(log, clock, () => {}) }
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

test('a write that fails after the client has hung up is recorded too', async () => {
  const { written, recorder } = setUp()
  const { request, response } = exchange({}, undefined)
  recorder.begin(request, response, facts).handling = Promise.reject(new Error('full'))

  response.emit('close')

  await expect.poll(() => written).toMatchObject([{ status: 0, accepted: 0 }])
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
      id: 1,
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
      bodyIsCut: 0,
    },
  ])
  expect(JSON.stringify(written)).not.toMatch(/secret|c2VjcmV0/)
})

test.each([
  ['{"writ\\u0065Key":"secret","a":"\\u0065"}', '{"writ\\u0065Key":"[redacted]","a":"\\u0065"}'],
  ['{"write_key" : "sec\\"ret"}', '{"write_key" : "[redacted]"}'],
  ['writeKey=secret&event=a', 'writeKey=[redacted]&event=a'],
  ['event=a&write%4Bey=secret', 'event=a&write%4Bey=[redacted]'],
  [
    '{"url":"https://example.com/?writeKey=secret&b=1"}',
    '{"url":"https://example.com/?writeKey=[redacted]&b=1"}',
  ],
  ['{"event":"a writeKey: b","n":"100%"}', '{"event":"a writeKey: b","n":"100%"}'],
])('the body %s is recorded as %s', (body, recorded) => {
  const notes = new RequestNotes(1, '127.0.0.1')

  notes.tookBody(Buffer.from(body))

  expect(notes.body).toBe(recorded)
})

test('write keys in a path, and credentials in any header, are not recorded', () => {
  const { written, recorder } = setUp()
  const headers = {
    'x-segment-write-key': 'secret',
    'api-token': 'secret',
    'x-amz-signature': 'secret',
    referer: 'https://example.com/?writeKey=secret',
    'user-agent': 'node',
    accept: '*/*',
  }
  const { request, response } = exchange(headers, 200)

  recorder.begin(request, response, { ...facts, path: '/v1/projects/secret/settings?writeKey=secret' })
  response.emit('close')

  expect(JSON.stringify(written)).not.toContain('secret')
  expect(written).toMatchObject([{ path: '/v1/projects/[redacted]/settings' }])
  expect(JSON.parse(written[0]?.headers ?? '')).toMatchObject({ 'user-agent': 'node', accept: '*/*' })
})

test('32 KB of a long body are recorded, and a write key that is cut off there is redacted', () => {
  const { recorder } = setUp()
  const { request, response } = exchange({}, 200)
  const notes = recorder.begin(request, response, facts)

  notes.tookBody(Buffer.from(`${' '.repeat(32_750)}"writeKey":"secret"`))

  expect(notes.bodyIsCut).toBe(true)
  expect(notes.body?.trim()).toBe('"writeKey":"[redacted]')
})
