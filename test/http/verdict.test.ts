import { STATUS_CODES } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { HTTPHeaders } from '../../src/http/client.ts'
import { redactor } from '../../src/http/redact.ts'
import { judge, toDeliveryError, type Word, wordOf } from '../../src/http/verdict.ts'
import { isHtml } from '../../src/http/waits.ts'

const URL = 'https://api.segment.io/v1/batch'
const asIs = (text: string): string => text

function errorOf(status: number, statusText: string, headers?: HTTPHeaders, body = '') {
  return toDeliveryError('rejected', { status, statusText, headers, body }, URL, asIs)
}

describe('the error of a request', () => {
  test.each([400, 429, 500, 503, 505])('an HTTP failure with %i shows status and status text', (status) => {
    const text = STATUS_CODES[status] as string

    const error = errorOf(status, text)

    expect(error.message).toBe(`[${status}] ${text}`)
    expect(error.status).toBe(status)
    expect(error.code).toBe('rejected')
  })

  test('without a status text, as over HTTP/2, it shows the status alone', () => {
    expect(errorOf(503, '').message).toBe('[503]')
  })

  test.each([
    ['an absolute address', 'https://user:geheim@login.example/path?token=geheim', 'login.example'],
    ['an address with a port', 'http://login.example:8080/', 'login.example:8080'],
    ['a path', '/v2/batch', 'api.segment.io'],
    ['an address without a scheme', '//autre.example/x', 'autre.example'],
    ['a scheme without a host', 'file:///etc/passwd', 'file:'],
  ])('a redirect to %s names the host only', (_label, location, host) => {
    const error = errorOf(302, 'Found', { Location: location })

    expect(error.message).toBe(`[302] Found: the redirect to ${host} was not followed`)
    expect(error.message).not.toContain('geheim')
  })

  test('without a response it quotes the HTTP client, with a redacted copy of the cause', () => {
    const request = { headers: { Authorization: 'Basic geheim' } }
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', request })
    const cause = Object.assign(new TypeError('fetch failed', { cause: reset }), { request })

    const error = toDeliveryError('retries_exhausted', { status: undefined, cause }, URL, asIs)

    expect(error.message).toBe('fetch failed: read ECONNRESET')
    expect(error.status).toBeUndefined()
    expect(error.cause).toMatchObject({
      name: 'TypeError',
      message: 'fetch failed',
      cause: { message: 'read ECONNRESET', code: 'ECONNRESET' },
    })
    expect(error.cause).not.toHaveProperty('request')
    expect((error.cause as Error).cause).not.toHaveProperty('request')
  })

  test('secrets are removed from the message, the status text and every cause', () => {
    const redact = redactor(['Basic d2tfWnVyaWNo', 'd2tfWnVyaWNo', 'wk_Zurich_7Qm4'])
    const inner = new Error('refused Basic d2tfWnVyaWNo')
    const cause = new Error('POST with wk_Zurich_7Qm4', { cause: inner })

    const unanswered = toDeliveryError('auth', { status: undefined, cause }, URL, redact)
    const answered = toDeliveryError(
      'auth',
      { status: 402, statusText: 'no d2tfWnVyaWNo', headers: {}, body: 'key: "wk_Zurich_7Qm4"' },
      URL,
      redact,
    )

    expect(unanswered.message).toBe('POST with [redacted]: refused [redacted]')
    expect((unanswered.cause as Error).message).toBe('POST with [redacted]')
    expect((unanswered.cause as Error).stack).not.toContain('wk_Zurich_7Qm4')
    expect(((unanswered.cause as Error).cause as Error).message).toBe('refused [redacted]')
    expect(answered.message).toBe('[402] no [redacted]')
    expect(answered.response).toBe('key: "[redacted]"')
  })

  const html = { 'Content-Type': 'text/html; charset=utf-8' }
  test.each<[number, string, HTTPHeaders, string]>([
    [401, 'Unauthorized', {}, 'the credentials were refused; check writeKey, oauthSettings and region'],
    [404, 'Not Found', html, `there is no tracking API at ${URL}; check host and path`],
    [405, 'Method Not Allowed', {}, `${URL} takes no POST; check host and path`],
    [
      403,
      'Forbidden',
      {},
      'the credentials cannot send events here; check writeKey, oauthSettings.scope and region',
    ],
    [403, 'Forbidden', html, `${URL} responded with a web page; check host, and proxies on the way`],
    [
      413,
      'Payload Too Large',
      html,
      'the service, or a proxy on the way, takes no body of this size; make the event smaller',
    ],
    [502, 'Bad Gateway', html, `${URL} responded with a web page; check host, and proxies on the way`],
  ])('%i says what the user can do', (status, text, headers, hint) => {
    expect(errorOf(status, text, headers).message).toBe(`[${status}] ${text}: ${hint}`)
  })

  test.each([
    ['Node.js 20', 'SSL routines:ssl3_get_record:wrong version number', 'fetch failed: SSL routines'],
    ['an error in a later record', 'packet length too long', 'fetch failed: packet length too long'],
  ])('TLS to a port that does not speak TLS is explained: %s', (_label, openssl, start) => {
    const cause = new TypeError('fetch failed', { cause: new Error(openssl) })

    const error = toDeliveryError('retries_exhausted', { status: undefined, cause }, URL, asIs)

    expect(error.message).toMatch(start)
    expect(error.message).toMatch(
      /: port 443 of api\.segment\.io does not speak TLS; check the scheme and the port of host$/,
    )
  })
})

test.each([
  ['text/html', true],
  ['TEXT/HTML;charset=utf-8', true],
  ['application/xhtml+xml', true],
  ['application/json', false],
  ['text/htmlx', false],
])('%s is a web page: %s', (type, expected) => {
  expect(isHtml({ 'content-type': type })).toBe(expected)
})

/** The table of docs/spec.md, section 8: the word for each range of statuses. */
const POLICY: [from: number, to: number, word: Word][] = [
  [99, 199, 'failed'],
  [200, 299, 'delivered'],
  [300, 399, 'settings'],
  [400, 400, 'refused'],
  [401, 401, 'settings'],
  [402, 402, 'never'],
  [403, 403, 'settings'],
  [404, 405, 'settings'],
  [406, 406, 'never'],
  [407, 407, 'settings'],
  [408, 408, 'failed'],
  [409, 409, 'never'],
  [410, 410, 'failed'],
  [411, 412, 'never'],
  [413, 413, 'large'],
  [414, 421, 'never'],
  [422, 422, 'refused'],
  [423, 424, 'never'],
  [425, 425, 'failed'],
  [426, 428, 'never'],
  [429, 429, 'limited'],
  [430, 459, 'never'],
  [460, 460, 'failed'],
  [461, 499, 'never'],
  [500, 500, 'failed'],
  [501, 501, 'settings'],
  [502, 504, 'failed'],
  [505, 505, 'settings'],
  [506, 510, 'failed'],
  [511, 511, 'settings'],
  [512, 599, 'failed'],
  [600, 999, 'failed'],
]

const rows = POLICY.flatMap(([from, to, word]) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ status: from + index, word })),
)

describe('F23, F24, F45: the status policy', () => {
  test('the table has every status from 99 to 999 once', () => {
    expect(rows.map(({ status }) => status)).toEqual(Array.from({ length: 901 }, (_, index) => 99 + index))
  })

  test('is the table of docs/spec.md, section 8', () => {
    expect(rows.map(({ status }) => ({ status, word: wordOf(status) }))).toEqual(rows)
  })

  test.each([0, -1, 1_000, Number.MAX_SAFE_INTEGER])('%i, which is not a status, is a failure', (status) => {
    expect(wordOf(status)).toBe('failed')
  })
})

describe('F23: the code of what ends by an answer', () => {
  test.each([
    [401, 'auth'],
    [403, 'auth'],
    [511, 'auth'],
    [404, 'rejected'],
    [302, 'rejected'],
    [400, 'rejected'],
    [402, 'rejected'],
    [413, 'too_large'],
    [429, 'retries_exhausted'],
    [503, 'retries_exhausted'],
    [undefined, 'retries_exhausted'],
  ])('%s: %s', (status, code) => {
    const answer =
      status === undefined
        ? { status, cause: new Error('refusé') }
        : { status, statusText: '', headers: {}, body: '' }

    const verdict = judge(answer, { url: URL, redact: asIs, sentAtMs: 0 })

    expect([verdict.code, verdict.error.code]).toEqual([code, code])
    // Making an error is costly, so there is one for all events.
    expect(verdict.error).toBe(verdict.error)
  })

  test('F50: a wait is that of the response, whatever its word; a 2xx states none', () => {
    const headers = { 'Retry-After': '7' }
    const judged = (status: number) =>
      judge({ status, statusText: '', headers, body: '' }, { url: URL, redact: asIs, sentAtMs: 0 })

    expect([429, 503, 400].map((status) => judged(status).waitMs)).toEqual([7_000, 7_000, 7_000])
    expect(judged(200).waitMs).toBeUndefined()
  })

  test.each([
    ['ECONNRESET', true],
    ['ECONNREFUSED', false],
  ])('%s: the connection was lost: %s', (code, isConnectionLost) => {
    const cause = Object.assign(new Error(code), { code })

    expect(judge({ status: undefined, cause }, { url: URL, redact: asIs, sentAtMs: 0 })).toMatchObject({
      word: 'failed',
      isConnectionLost,
    })
  })
})
