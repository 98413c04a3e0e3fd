import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { Collector } from '../src/index.ts'
import { systemClock } from '../src/system-clock.ts'
import { basic, exchange, openCollector, post, track } from './support.ts'

interface RequestLine {
  id: string
  path: string
  status: number
  [field: string]: unknown
}

async function requests(collector: Collector, count: number): Promise<RequestLine[]> {
  const read = async () => {
    const response = await fetch(`${collector.url}/api/requests?order=oldest`)
    return ((await response.json()) as { requests: RequestLine[] }).requests
  }
  // A request is recorded only after its response has been sent.
  await expect.poll(async () => (await read()).length).toBe(count)
  return read()
}

test('a batch is one request with its events, its sizes, its source and its library', async () => {
  const collector = await openCollector()
  const batch = {
    context: { library: { name: 'trackpost', version: '0.1.0' } },
    batch: [track(), track({ event: undefined }), track()],
  }
  const body = gzipSync(JSON.stringify(batch))

  await post(collector, '/v1/b', body, { 'content-encoding': 'gzip', 'x-retry-count': '1' })

  const [line] = await requests(collector, 1)
  expect(line).toMatchObject({
    method: 'POST',
    path: '/v1/b',
    status: 200,
    source: 'shop',
    address: '127.0.0.1',
    library: 'trackpost/0.1.0',
    contentType: 'application/json',
    contentEncoding: 'gzip',
    bodyBytes: body.length,
    inflatedBytes: Buffer.byteLength(JSON.stringify(batch)),
    retryCount: 1,
    events: { total: 3, accepted: 2, rejected: 1 },
    problem: null,
  })
  const details = await (await fetch(`${collector.url}/api/requests/${line?.id}`)).json()
  expect(details).toMatchObject({ eventList: [{ request: line?.id }, { reason: 'no_event' }, {}] })
})

test('a connection without any bytes is not recorded as a request', async () => {
  const collector = await openCollector({ limits: { headersMs: 50, requestMs: 50 } })
  expect(await exchange(collector.port)).toMatch(/^(HTTP\/1.1 408 .*)?$/s)

  await exchange(collector.port, 'GET / HTTP/1.1\r\n')
  expect(await requests(collector, 1)).toMatchObject([{ status: 408 }])
})

test('refused requests are recorded too, each with its problem', async () => {
  const config = { rate: 2, sources: [{ name: 'web', writeKey: 'k' }] }
  const collector = await openCollector({ clock: { ...systemClock, monotonic: () => 0 }, config })
  const headers = { authorization: basic('k') }
  await post(collector, '/v1/track', '{\n "a": oops}', headers)
  await post(collector, '/v1/track', track(), { authorization: 'Basic ?' })
  const large = track({ event: 'Lost Order', properties: { pad: 'x'.repeat(300_000) } })
  await post(collector, '/sdk/batch', { batch: [large] }, headers)
  await fetch(`${collector.url}/v1/track`)
  await post(collector, '/v1/track', track(), { ...headers, origin: 'https://evil.example' })
  await post(collector, '/v1/track', track(), headers)
  await post(collector, '/v1/track', track(), headers)
  await exchange(collector.port, `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`)
  await exchange(collector.port, 'nonsense\r\n\r\n')

  const lines = await requests(collector, 9)
  expect(lines.map(({ path, status, code }) => [path, status, code])).toEqual([
    ['/v1/track', 400, 'invalid_json'],
    ['/v1/track', 401, 'malformed_credentials'],
    ['/sdk/batch', 404, 'not_found'],
    ['/v1/track', 405, 'method'],
    ['/v1/track', 403, 'origin'],
    ['/v1/track', 200, null],
    ['/v1/track', 429, 'rate_limited'],
    ['', 431, 'headers_too_large'],
    ['', 400, 'bad_http'],
  ])
  const found = await (await fetch(`${collector.url}/api/requests?q="Lost Order"`)).json()
  expect(found).toMatchObject({ requests: [{ path: '/sdk/batch', status: 404 }] })
  expect(lines[0]).toMatchObject({ source: 'web', problem: { offset: 8, line: 2, column: 7 } })
})

test('a fault on demand is recorded with the request that got it', async () => {
  const collector = await openCollector()
  const { id } = collector.respondNext({ reset: true })
  await post(collector, '/v1/track', track()).catch(() => {})

  expect(await requests(collector, 1)).toMatchObject([{ status: 0, fault: id, events: { total: 0 } }])
})

test('requests for the page and its data do not count as requests of clients', async () => {
  const collector = await openCollector()
  await fetch(collector.url)
  await fetch(`${collector.url}/api/events`)
  await fetch(`${collector.url}/api/events?nonsense=1`)
  await post(collector, '/v1/m', { series: [] })

  expect(await requests(collector, 1)).toMatchObject([{ path: '/v1/m', events: { total: 0 } }])
})

test.each([
  ['without a Host', 'POST /v1/track HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'bad_host'],
  [
    'with two Hosts',
    'POST /v1/track HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    400,
    'bad_host',
  ],
  [
    'with an unknown Expect header',
    'POST /v1/none HTTP/1.1\r\nHost: localhost\r\nExpect: 200-maybe\r\nConnection: close\r\n\r\n',
    404,
    'not_found',
  ],
])('a request %s gets an error response, and is recorded', async (_, request, status, code) => {
  const collector = await openCollector()
  const [head = '', body = ''] = (await exchange(collector.port, request)).split('\r\n\r\n')

  expect(head).toContain(`HTTP/1.1 ${status} `)
  expect(JSON.parse(body)).toMatchObject({ success: false, code })
  expect(await requests(collector, 1)).toMatchObject([{ status, code }])
})

test('the answer to a request is kept, also that of a fault', async () => {
  const collector = await openCollector()
  collector.respondNext({ status: 502, body: 'bad gateway' })
  await post(collector, '/v1/track', track())
  await post(collector, '/v1/track', track())
  const refused = await (await post(collector, '/v1/track', '{"broken"')).text()

  const ask = async (path: string) => (await fetch(`${collector.url}/api/requests${path}`)).json()
  const listed = async () => ((await ask('?order=oldest')) as { requests: Array<{ id: string }> }).requests
  await expect.poll(async () => (await listed()).length).toBe(3)
  const requests = await listed()
  const details = await Promise.all(requests.map(({ id }) => ask(`/${id}`)))

  expect(details.map(({ answer }) => answer)).toEqual(['bad gateway', '{"success":true}', refused])
  expect(
    details.flatMap(({ headers }) => Object.keys(headers)).filter((name) => name.startsWith(':')),
  ).toEqual([])
})

test.each([
  ['{"writ\\u0065Key":"secret","a":"\\u0065"}', '{"writ\\u0065Key":"[redacted]","a":"\\u0065"}'],
  ['{"write_key" : "sec\\"ret"}', '{"write_key" : "[redacted]"}'],
  ['writeKey=secret&event=a', 'writeKey=[redacted]&event=a'],
  ['event=a&write%4Bey=secret', 'event=a&write%4Bey=[redacted]'],
  [
    '{"url":"https://a.example/?writeKey=secret&b=1"}',
    '{"url":"https://a.example/?writeKey=[redacted]&b=1"}',
  ],
  ['{"event":"a writeKey: b","n":"100%"}', '{"event":"a writeKey: b","n":"100%"}'],
  [`${' '.repeat(32_750)}"writeKey":"secret"`, `${' '.repeat(32_750)}"writeKey":"[redacted]`],
])('of the body %s, %s is kept', async (body, kept) => {
  const collector = await openCollector()
  await post(collector, '/v1/track', body)
  const [line] = await requests(collector, 1)

  const details = await (await fetch(`${collector.url}/api/requests/${line?.id}`)).json()
  expect(details).toMatchObject({ body: kept, bodyIsCut: body.length > 32_768 })
})

test('write keys in a path, and credentials in any header, are not recorded', async () => {
  const collector = await openCollector()
  const names = ['x-segment-write-key', 'api-token', 'x-amz-signature', 'authorization', 'cookie']
  const headers = Object.fromEntries(names.map((name) => [name, 'secret']))
  const referer = 'https://example.com/?writeKey=secret'
  await post(collector, '/v1/projects/secret/settings?writeKey=secret', {}, { ...headers, referer })
  const [line] = await requests(collector, 1)

  expect(line).toMatchObject({ path: '/v1/projects/[redacted]/settings' })
  const details = await (await fetch(`${collector.url}/api/requests/${line?.id}`)).text()
  expect(details).toContain('"content-type":"application/json"')
  expect(details).not.toContain('secret')
})
