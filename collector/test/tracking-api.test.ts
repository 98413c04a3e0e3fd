import { expect, test } from 'vitest'
import { buildMessage } from '../../src/message/build.ts'
import type { Kind } from '../src/record.ts'
import { basic, exchange, fakeClock, openCollector, post, postPlain, track } from './support.ts'

const rejected: Array<[reason: string, path: string, message: Record<string, unknown>]> = [
  ['no_user_anon_id', 'track', { event: 'x' }],
  ['no_user_anon_id', 'page', { userId: '', anonymousId: null }],
  ['no_user_anon_id', 'identify', { userId: { id: 1 } }],
  ['no_event', 'track', { userId: 'u' }],
  ['no_event', 'track', { userId: 'u', event: 7 }],
  ['no_group_id', 'group', { userId: 'u' }],
  ['no_previous_id', 'alias', { userId: 'u' }],
  ['no_user_id', 'alias', { anonymousId: 'a', previousId: 'p' }],
  ['bad_message_id', 'track', { userId: 'u', event: 'x', messageId: '🛒'.repeat(100) }],
  ['bad_message_id', 'track', { userId: 'u', event: 'x', messageId: 5 }],
  ['bad_id', 'track', { userId: ' ', anonymousId: 'a', event: 'x' }],
  ['bad_field', 'track', { userId: 'u', event: 'x', properties: [1] }],
  ['bad_field', 'identify', { userId: 'u', traits: 'gold' }],
]

test.each(rejected)('%s is recorded for a %s with %j, which gets 200', async (reason, path, message) => {
  const collector = await openCollector()

  const response = await post(collector, `/v1/${path}`, message)

  expect(response.status).toBe(200)
  expect(collector.events()).toMatchObject([{ status: 'rejected', reason }])
})

test.each([
  ['bad_type', { userId: 'u', event: 'x', type: 'Track' }],
  ['bad_type', { userId: 'u', event: 'x' }],
  ['bad_item', 'not an object'],
  ['bad_item', null],
])('%s is recorded for the batch item %j, and other items are accepted', async (reason, item) => {
  const collector = await openCollector()

  const response = await post(collector, '/v1/batch', { batch: [track(), item, track()] })

  expect(response.status).toBe(200)
  expect(collector.events().map((record) => record.reason)).toEqual([null, reason, null])
})

test('an empty batch gets 200 and records nothing', async () => {
  const collector = await openCollector()

  expect((await post(collector, '/v1/batch', { batch: [] })).status).toBe(200)
  expect(collector.count()).toBe(0)
})

test('the timestamp is corrected by the difference between sentAt and the time of receipt', async () => {
  const clock = fakeClock(Date.parse('2026-05-17T12:00:00.000Z'))
  const collector = await openCollector({ clock: clock })

  // The client's clock is an hour behind; the event happened five seconds before it was sent.
  await post(collector, '/v1/batch', {
    sentAt: '2026-05-17T11:00:00.000Z',
    batch: [track({ timestamp: '2026-05-17T10:59:55.000Z' })],
  })

  expect(collector.events()[0]?.message).toMatchObject({
    timestamp: '2026-05-17T11:59:55.000Z',
    originalTimestamp: '2026-05-17T10:59:55.000Z',
    sentAt: '2026-05-17T11:00:00.000Z',
    receivedAt: '2026-05-17T12:00:00.000Z',
  })
})

test('an event without a timestamp gets the time of receipt; without sentAt, the timestamp is not corrected', async () => {
  const clock = fakeClock(Date.parse('2026-05-17T12:00:00.000Z'))
  const collector = await openCollector({ clock: clock })

  await post(collector, '/v1/batch', { batch: [track(), track({ timestamp: '2019-03-01T08:00:00+01:00' })] })

  expect(collector.events().map(({ message }) => message?.timestamp)).toEqual([
    '2026-05-17T12:00:00.000Z',
    '2019-03-01T07:00:00.000Z',
  ])
})

test('without a header the write key comes from the body, and it is not stored with the message', async () => {
  const collector = await openCollector()

  await postPlain(collector, '/v1/track', track({ writeKey: 'from-the-body' }))
  await postPlain(collector, '/v1/batch', {
    writeKey: 'from-the-batch',
    batch: [track({ writeKey: 'inner' })],
  })

  const records = collector.events()
  expect(records.map(({ source }) => source)).toEqual(['from-the-body', 'from-the-batch'])
  expect(records.map(({ message }) => message)).not.toContainEqual(
    expect.objectContaining({ writeKey: expect.anything() }),
  )
})

test('a NUL in a write key or an event name is replaced, and does not cut off the text', async () => {
  const collector = await openCollector()

  await postPlain(collector, '/v1/track', track({ writeKey: 'a\0b', event: 'x\0y' }))

  expect(collector.events()).toMatchObject([{ source: 'a\ufffdb', name: 'x\ufffdy', status: 'accepted' }])
})

test('the header wins if header and body have different keys', async () => {
  const collector = await openCollector()

  await postPlain(collector, '/v1/track', track({ writeKey: 'body' }), { authorization: basic('header') })

  expect(collector.events()[0]?.source).toBe('header')
})

test('F153: a key of more than 200 characters is no name of a source', async () => {
  const collector = await openCollector()

  for (const writeKey of ['k'.repeat(200), 'k'.repeat(201)])
    expect((await postPlain(collector, '/v1/track', { ...track(), writeKey })).status).toBe(200)

  expect(collector.events().map(({ source, reason }) => [source, reason])).toEqual([
    ['k'.repeat(200), null],
    ['', 'unknown_write_key'],
  ])
})

test('an event without any key gets 200 and the reason no_write_key', async () => {
  const collector = await openCollector()

  expect((await postPlain(collector, '/v1/track', track())).status).toBe(200)
  expect(collector.events()).toMatchObject([{ source: '', reason: 'no_write_key' }])
})

test('an unknown key is recorded, and gets 401 with rejectUnknownKeys', async () => {
  const sources = [{ name: 'web', writeKey: 'web-key' }]
  const lenient = await openCollector({ config: { sources } })
  const strict = await openCollector({ config: { sources, rejectUnknownKeys: true } })

  const answers = await Promise.all(
    [lenient, strict].map((collector) =>
      postPlain(collector, '/v1/track', track(), { authorization: basic('nobody') }),
    ),
  )

  expect(answers.map(({ status }) => status)).toEqual([200, 401])
  expect(answers[1]?.headers.get('www-authenticate')).toMatch(/^Basic /)
  expect(lenient.events()).toMatchObject([{ reason: 'unknown_write_key' }])
  await strict.waitFor({ reason: 'bad_credentials' })
})

const otherTypes = ['text/plain', 'application/vnd.api+json', '']

test.each(otherTypes)(
  'a body of type %j is parsed as JSON nevertheless, and the event has a warning',
  async (type) => {
    const collector = await openCollector()

    const response = await post(collector, '/v1/track', JSON.stringify(track()), { 'content-type': type })

    expect(response.status).toBe(200)
    expect(collector.events()).toMatchObject([{ status: 'accepted', warnings: ['content_type'] }])
  },
)

test.each(otherTypes)('with strictContentType, a body of type %j gets 400', async (type) => {
  const collector = await openCollector({ config: { strictContentType: true } })

  const response = await post(collector, '/v1/track', JSON.stringify(track()), { 'content-type': type })
  const right = await post(collector, '/v1/track', track(), {
    'content-type': 'Application/JSON; charset=utf-8',
  })

  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ success: false, code: 'bad_content_type' })
  expect(await collector.waitFor({ reason: 'bad_content_type' })).toMatchObject([{ source: 'shop' }])
  expect(right.status).toBe(200)
})

test('only the source that is above the rate gets 429, with Retry-After and X-RateLimit-Reset', async () => {
  const clock = fakeClock()
  const collector = await openCollector({ clock: clock, config: { rate: 2 } })
  const send = (key: string) => post(collector, '/v1/track', track(), { authorization: basic(key) })
  await send('a')
  await send('a')

  const [over, other] = [await send('a'), await send('b')]
  clock.advance(1000)
  const later = await send('a')

  expect([over.status, other.status, later.status]).toEqual([429, 200, 200])
  expect(over.headers.get('retry-after')).toBe('1')
  expect(over.headers.get('x-ratelimit-reset')).toBe('1')
  expect(collector.count()).toBe(4)
})

test('a request over the rate gets 429 before its body is read, if its header has the key', async () => {
  const collector = await openCollector({ config: { rate: 1 } })
  await post(collector, '/v1/track', track(), { authorization: basic('a') })
  const half = (authorization: string) =>
    exchange(
      collector.port,
      `POST /v1/track HTTP/1.1\r\nHost: localhost\r\n${authorization}Connection: close\r\nContent-Length: 99\r\n\r\n{"half`,
    )

  expect(await half(`Authorization: ${basic('a')}\r\n`)).toMatch(/^HTTP\/1.1 429 /)
})

test('F120: if requests come at twice the rate for ten seconds, half of them are accepted, within 5 %', async () => {
  const clock = fakeClock()
  const collector = await openCollector({ clock: clock, config: { rate: 10 } })
  const statuses: number[] = []

  for (let i = 0; i < 200; i++) {
    statuses.push((await post(collector, '/v1/track', track())).status)
    clock.advance(50)
  }

  const accepted = statuses.filter((status) => status === 200).length
  expect(accepted).toBeGreaterThanOrEqual(95)
  expect(accepted).toBeLessThanOrEqual(105)
})

test('a source can have its own rate', async () => {
  const config = { rate: 100, sources: [{ name: 's', writeKey: 'shop', rate: 1 }] }
  const collector = await openCollector({ clock: fakeClock(), config })
  await post(collector, '/v1/track', track())

  expect((await post(collector, '/v1/track', track())).status).toBe(429)
})

/** What the specification (section 1) calls not valid; all else is taken. */
function isValid(field: string, text: string): boolean {
  if (field !== 'messageId') return text.trim() !== ''
  return text !== '' && [...text].length < 100 && !/\p{Cc}/u.test(text)
}

test('of 4,000 odd texts as names and ids, exactly those are refused that are not valid', async () => {
  const collector = await openCollector()
  const pieces = [
    ' ',
    '\t',
    '\n',
    '\u00a0',
    '\u2003',
    '\ufeff',
    '\u0000',
    '\u0007',
    '\u007f',
    '\u0085',
    '\u200b',
  ]
  pieces.push('a', 'é', '🛒', '\ud800', '\udc00', '"', '\\', '\u2028', 'x'.repeat(98), '🛒'.repeat(97))
  const texts = pieces.flatMap((one) => [one, ...pieces.flatMap((other) => [one + other, one + other + one])])
  const kinds = {
    event: 'track',
    userId: 'identify',
    anonymousId: 'page',
    groupId: 'group',
    previousId: 'alias',
  }
  const cases = [...Object.entries(kinds), ['messageId', 'track'] as const].flatMap(([field, type]) =>
    texts.map((text) => ({ field, type, text })),
  )
  const message = ({ field, type, text }: (typeof cases)[number], index: number) => ({
    type,
    event: 'x',
    messageId: `m${index}`,
    ...(field === 'anonymousId' ? {} : { userId: 'u' }),
    groupId: 'g',
    previousId: 'p',
    [field]: text,
  })
  const distinct = new Set(cases.map(({ field, text }) => `${field} ${text}`))

  for (let start = 0; start < cases.length; start += 1000)
    await post(collector, '/v1/batch', {
      batch: cases.slice(start, start + 1000).map((one, at) => message(one, start + at)),
    })

  expect(distinct.size).toBeGreaterThan(4000)
  const events = collector.events()
  const wrong = cases.filter(({ field, text }, index) => {
    const reason = events[index]?.reason ?? null
    return isValid(field, text) === (reason !== null && reason !== 'duplicate' && reason !== 'dedup_conflict')
  })
  expect(wrong).toEqual([])
  // The client of this project refuses the same ones, so that none is delivered and then not accepted.
  const differing = cases.filter(({ field, type, text }, index) => {
    return isValid(field, text) !== isTakenByClient(type, message({ field, type, text }, index))
  })
  expect(differing).toEqual([])
})

function isTakenByClient(type: string, params: object): boolean {
  const stamp = { library: { name: 'trackpost', version: '0' }, metadata: { jsRuntime: 'node' } }
  try {
    return buildMessage(type as Kind, params, stamp, 0).type === type
  } catch {
    return false
  }
}
