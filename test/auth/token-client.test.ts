import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { localKey } from '../../src/auth/assertion.ts'
import { readPrivateKey } from '../../src/auth/private-key.ts'
import { TokenClient, type TokenResult } from '../../src/auth/token-client.ts'
import type { HTTPClient, HTTPClientRequest, HTTPResponse } from '../../src/http/client.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { CLIENT_ID, CLIENT_KEY, KEY_ID } from '../support/token-server.ts'

type Reply = (request: HTTPClientRequest) => Promise<HTTPResponse> | HTTPResponse

function withTokens(reply: Reply, clock: FakeClock, scope = 'tracking_api:write') {
  const requests: HTTPClientRequest[] = []
  let sent: () => void = () => {}
  const isSent = new Promise<void>((resolve) => {
    sent = resolve
  })
  const client: HTTPClient = {
    async makeRequest(request) {
      requests.push(request)
      sent()
      return reply(request)
    },
  }
  const tokens = new TokenClient({
    settings: {
      clientId: CLIENT_ID,
      keyId: KEY_ID,
      authServer: 'https://oauth2.example.test/eu',
      scope,
    },
    signer: localKey(readPrivateKey(CLIENT_KEY)),
    client,
    timeoutMs: 10_000,
    userAgent: 'trackpost/test',
    clock,
  })
  return { tokens, requests, isSent }
}

async function ask(reply: Reply, clock = new FakeClock(), scope?: string) {
  const { tokens, requests, isSent } = withTokens(reply, clock, scope)
  const request = tokens.request(clock.now())
  await isSent
  return { request, requests, clock, answer: () => request.result }
}

function json(body: unknown, status = 200, headers: Record<string, string> = {}): Reply {
  return () => ({ status, statusText: '', headers, text: async () => JSON.stringify(body) })
}

function text(body: string, status = 200): Reply {
  return () => new Response(body, { status })
}

async function answerOf(reply: Reply): Promise<TokenResult> {
  return (await ask(reply)).answer()
}

test('the request is a form with these fields and no others', async () => {
  const scope = 'tracking_api:write a+b&c=d'
  const { requests, answer } = await ask(json({ access_token: 'tok' }), undefined, scope)
  await answer()

  const { url, method, headers, body, httpRequestTimeout } = requests[0] as HTTPClientRequest
  expect([url, method, httpRequestTimeout]).toEqual(['https://oauth2.example.test/eu/token', 'POST', 10_000])
  expect(headers).toEqual({
    'Content-Type': 'application/x-www-form-urlencoded',
    Accept: 'application/json',
    'Accept-Encoding': 'identity',
    'User-Agent': 'trackpost/test',
  })
  expect(body).toContain(
    'client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer',
  )
  const form = new URLSearchParams(body)
  expect([...form.keys()]).toEqual(['grant_type', 'client_assertion_type', 'client_assertion', 'scope'])
  expect(form.get('scope')).toBe(scope)
})

describe('a usable response', () => {
  test.each<[string, unknown]>([
    ['Bearer', 'Bearer'],
    ['bearer in another case', 'bEARER'],
    ['no type at all', undefined],
  ])('is accepted with the token type %s', async (_, type) => {
    const answer = await answerOf(json({ access_token: 'tok-1', token_type: type, expires_in: 60 }))

    expect(answer).toEqual({ outcome: 'token', token: 'tok-1', lifetimeMs: 60_000 })
  })

  test.each<[string, unknown, number]>([
    ['absent', undefined, 300_000],
    ['null', null, 300_000],
    ['"3600"', '3600', 3_600_000],
    ['"soon"', 'soon', 300_000],
    ['"NaN"', 'NaN', 300_000],
    ['0', 0, 0],
    ['-1', -1, -1_000],
    ['"-1"', '-1', -1_000],
    ['1.5', 1.5, 1_500],
    ['10^10', 1e10, 1e13],
    ['2^31', 2 ** 31, 2 ** 31 * 1_000],
    ['true', true, 300_000],
  ])('F62: gives a token with a finite life when expires_in is %s', async (_, expiresIn, lifetimeMs) => {
    const answer = await answerOf(json({ access_token: 'tok-1', expires_in: expiresIn }))

    expect(answer).toMatchObject({ outcome: 'token', lifetimeMs })
  })
})

describe('F61: a 200 without a usable token leads to a retry', () => {
  test.each<[string, Reply]>([
    ['HTML', text('<!doctype html><title>Anmelden</title>')],
    ['an empty body', text('')],
    ['null', text('null')],
    ['an array', text('[]')],
    ['half of its JSON', text('{"access_token":"tok')],
    ['an empty token', json({ access_token: '' })],
    ['a token with CR LF', json({ access_token: 'tok\r\nX-Admin: 1' })],
    ['a token with a space', json({ access_token: 'tok 1' })],
    ['a token beyond ASCII', json({ access_token: 'tök' })],
    ['a token that is a number', json({ access_token: 17 })],
    ['a token type that cannot become text', json({ access_token: 'tok', token_type: { toString: null } })],
    ['a token of 1 MB', text(JSON.stringify({ access_token: 'a'.repeat(1_000_000) }))],
    ['a token of 9 KB', json({ access_token: 'a'.repeat(9_000) })],
    ['the token type mac', json({ access_token: 'tok', token_type: 'mac' })],
  ])('%s', async (_, reply) => {
    expect(await answerOf(reply)).toMatchObject({ outcome: 'retry', isLimited: false })
  })
})

describe('another status', () => {
  test.each([500, 502, 503, 504, 408, 425])('%d leads to a retry', async (status) => {
    const answer = await answerOf(json({}, status))

    expect(answer).toMatchObject({
      outcome: 'retry',
      failure: { status },
      waitMs: undefined,
      isLimited: false,
    })
  })

  test.each([400, 401, 403, 404, 405, 415, 501, 301, 302, 307])('%d is final', async (status) => {
    const answer = await answerOf(json({}, status))

    expect(answer).toMatchObject({ outcome: 'refused', failure: { status } })
  })

  test.each<[string, Record<string, string>, number | undefined]>([
    ['no header', {}, undefined],
    ['Retry-After in seconds', { 'retry-after': '17' }, 17_000],
  ])('F58: 429 with %s leads to a retry; a valid header sets the wait', async (_, headers, waitMs) => {
    const answer = await answerOf(json({}, 429, headers))

    expect(answer).toMatchObject({ outcome: 'retry', waitMs, isLimited: true })
  })
})

describe('a refusal', () => {
  test('shows the code and the description from the server', async () => {
    const body = { error: 'invalid_client', error_description: 'The key is not registered.' }
    const answer = await answerOf(json(body, 401))

    expect(answer).toMatchObject({
      failure: { message: '[401]: invalid_client: The key is not registered.' },
    })
  })

  test('shows only one short line of visible characters', async () => {
    const body = { error: 'invalid_scope\r\n\u001b[31m', error_description: `ü${'x'.repeat(5_000)}` }
    const { failure } = (await answerOf(json(body, 400))) as { failure: { message: string } }

    expect(failure.message.length).toBeLessThan(320)
    expect(failure.message).toMatch(/^[\x20-\x7e]*$/)
  })

  test.each([
    ['the assertion has expired', true],
    ['JWT is not yet valid', true],
    ['"exp" claim timestamp check failed', true],
    ['iat is in the future', true],
    ['unknown client', false],
    ['invalid export', false],
  ])('that says "%s" blames the clock: %s', async (description, isClockBlamed) => {
    const body = { error: 'invalid_request', error_description: description }

    expect(await answerOf(json(body, 400))).toMatchObject({ outcome: 'refused', isClockBlamed })
  })

  test.each<[string, string | undefined, number | undefined]>([
    ['a Date', 'Fri, 20 Nov 2026 10:30:00 GMT', Date.UTC(2026, 10, 20, 10, 30)],
    ['no Date', undefined, undefined],
    ['a malformed Date', 'garbage', undefined],
  ])('with %s contains the time of the server, if the header is valid', async (_, date, dateMs) => {
    const answer = await answerOf(json({}, 400, date === undefined ? {} : { Date: date }))

    expect(answer).toMatchObject({ outcome: 'refused', dateMs })
  })
})

describe('an invalid result of the HTTP client', () => {
  test.each<[string, Reply]>([
    [
      'an HTTP client that throws',
      () => {
        throw new Error('kaputt')
      },
    ],
    [
      'a response whose text rejects',
      () => ({ status: 200, statusText: '', text: () => Promise.reject(new Error('cut')) }),
    ],
    [
      'a response whose text is not a string',
      () => ({ status: 200, statusText: '', text: async () => 17 as never }),
    ],
  ])('%s leads to a retry', async (_, reply) => {
    expect(await answerOf(reply)).toMatchObject({ outcome: 'retry', isLimited: false })
  })

  test.each<[string, Reply, string]>([
    ['before the headers', () => new Promise(() => {}), 'no response within 10000 ms'],
    [
      'in the middle of the body',
      () => new Response(new ReadableStream({ start: (c) => c.enqueue(Buffer.from('{"acc')) })),
      '[200] without a usable access token',
    ],
  ])('F57: a response that hangs %s is given up at the deadline, and aborted', async (_, reply, message) => {
    const { answer, clock, requests } = await ask(reply)

    await clock.advance(9_999)
    expect(requests[0]?.signal?.aborted).toBe(false)
    await clock.advance(1)

    expect(await answer()).toMatchObject({
      outcome: 'retry',
      failure: { message },
    })
    expect(requests[0]?.signal?.aborted).toBe(true)
    expect(clock.timerCount).toBe(0)
  })

  test('an abort ends the request at once', async () => {
    const { request, answer, clock } = await ask(() => new Promise(() => {}))

    request.abort()

    expect((await answer()).outcome).toBe('retry')
    expect(clock.timerCount).toBe(0)
  })
})

test('an error that quotes a server or an HTTP client contains neither the assertion nor the ids', async () => {
  const seen: string[] = []
  const quote: Reply = ({ body }) => {
    const assertion = new URLSearchParams(body).get('client_assertion') as string
    seen.push(assertion, ...assertion.split('.'), CLIENT_ID, KEY_ID)
    const cause = Object.assign(new Error(`sent ${assertion}`), { request: { body } })
    throw new Error(`could not send ${body} for ${CLIENT_ID}`, { cause })
  }
  const echo: Reply = ({ body }) => ({
    status: 400,
    statusText: body,
    text: async () =>
      JSON.stringify({ error: 'invalid_client', error_description: `${CLIENT_ID} ${KEY_ID} ${body}` }),
  })

  for (const reply of [quote, echo]) {
    const shown = inspect(await answerOf(reply), { depth: 20, showHidden: true })

    expect(shown).toContain('[redacted]')
    for (const secret of seen) expect(shown).not.toContain(secret)
  }
})

test('when the process is suspended before the assertion is signed, this request times out and the next one works', async () => {
  const clock = new FakeClock()
  const { requests, tokens } = withTokens(json({ access_token: 'tok' }), clock)

  const late = tokens.request(clock.now())
  // The deadline passes first: the signature is made on another thread, and its result is handled after the timer.
  await clock.advance(10_000)

  expect(await late.result).toMatchObject({
    outcome: 'retry',
    failure: { message: 'the assertion could not be signed (TimeoutError)', code: 'auth' },
  })
  expect(await tokens.request(clock.now()).result).toMatchObject({ outcome: 'token', token: 'tok' })
  expect(requests).toHaveLength(1)
})
