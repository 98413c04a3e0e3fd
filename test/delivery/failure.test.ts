import { STATUS_CODES } from 'node:http'
import { describe, expect, test } from 'vitest'
import { answerError } from '../../src/delivery/failure.ts'
import type { HTTPHeaders } from '../../src/http/client.ts'
import { redactor } from '../../src/policy/redact.ts'

const URL = 'https://api.segment.io/v1/batch'
const asIs = (text: string): string => text

function errorOf(status: number, statusText: string, headers?: HTTPHeaders) {
  return answerError('rejected', { status, statusText, headers }, URL, asIs)
}

describe('the error of an answer', () => {
  test.each([400, 403, 404, 429, 500, 503, 505])(
    'an HTTP failure with %i reads as status and status text',
    (status) => {
      const text = STATUS_CODES[status] as string

      const error = errorOf(status, text)

      expect(error.message).toBe(`[${status}] ${text}`)
      expect(error.status).toBe(status)
      expect(error.code).toBe('rejected')
    },
  )

  test('without a status text, as over HTTP/2, it is the status alone', () => {
    expect(errorOf(503, '').message).toBe('[503]')
  })

  test.each([
    ['an absolute address', 'https://user:geheim@login.example/path?token=geheim', 'login.example'],
    ['an address with a port', 'http://login.example:8080/', 'login.example:8080'],
    ['a path', '/v2/batch', 'api.segment.io'],
    ['an address without a scheme', '//autre.example/x', 'autre.example'],
    ['a scheme without a host', 'file:///etc/passwd', 'file:'],
  ])('a redirect to %s names the clock only', (_label, location, clock) => {
    const error = errorOf(302, 'Found', { Location: location })

    expect(error.message).toBe(`[302] Found: the redirect to ${clock} was not followed`)
    expect(error.message).not.toContain('geheim')
  })

  test('a redirect to an address that is none says so', () => {
    expect(errorOf(301, 'Moved Permanently', { location: 'http://' }).message).toBe(
      '[301] Moved Permanently: the redirect to an invalid address was not followed',
    )
  })

  test('a 304, and a redirect without an address, read as any failure', () => {
    expect(errorOf(304, 'Not Modified').message).toBe('[304] Not Modified')
  })

  test('a Location beside another status is not mentioned', () => {
    expect(errorOf(400, 'Bad Request', { location: 'https://login.example' }).message).toBe(
      '[400] Bad Request',
    )
  })

  test('without an answer it says what the HTTP client said, with a clean copy of the cause', () => {
    const request = { headers: { Authorization: 'Basic geheim' } }
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', request })
    const cause = Object.assign(new TypeError('fetch failed', { cause: reset }), { request })

    const error = answerError('retries_exhausted', { status: undefined, cause }, URL, asIs)

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

  test('secrets are taken out of the message, the status text and every cause', () => {
    const redact = redactor(['Basic d2tfWnVyaWNo', 'd2tfWnVyaWNo', 'wk_Zurich_7Qm4'])
    const inner = new Error('refused Basic d2tfWnVyaWNo')
    const cause = new Error('POST with wk_Zurich_7Qm4', { cause: inner })

    const unanswered = answerError('auth', { status: undefined, cause }, URL, redact)
    const answered = answerError(
      'auth',
      { status: 401, statusText: 'no d2tfWnVyaWNo', headers: {} },
      URL,
      redact,
    )

    expect(unanswered.message).toBe('POST with [redacted]: refused [redacted]')
    expect((unanswered.cause as Error).message).toBe('POST with [redacted]')
    expect((unanswered.cause as Error).stack).not.toContain('wk_Zurich_7Qm4')
    expect(((unanswered.cause as Error).cause as Error).message).toBe('refused [redacted]')
    expect(answered.message).toBe('[401] no [redacted]')
  })
})
