import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readBody } from '../../test/support/loopback.ts'
import {
  exactDigits,
  mayBeInexact,
  parseExact,
  parseInexact,
  stringifyExact,
  withExactNumbers,
} from '../src/json/exact-json.ts'
import { contentComparer } from '../src/store/same-content.ts'
import { newFolder } from './support/process.ts'
import { openCollector, post, serve } from './support.ts'

const LONG = '12345678901234567891'
const NUMBERS = `"id":${LONG},"rate":0.12345678901234567891,"plain":1.5,"text":"${LONG}"`

test.each([
  `{${NUMBERS},"list":[-${LONG},9007199254740993,{"${LONG}":"\\"${LONG}"}]}`,
  `["\\u0001exact:5","${LONG}"]`.replace('\\u0001exact:5', 'a\\\\'),
  LONG,
  '[123456789012345680000,0.1,100000000000000000000000]',
  '[123456789.12345678901,12345678901234.123456,{"a":-1234567.891234567890}]',
])('%s is written with the same digits as it was read', (text) => {
  expect(stringifyExact(parseExact(text))).toBe(text)
  expect(stringifyExact(withExactNumbers(JSON.parse(text), parseExact(text)))).toBe(text)
})

test.each([
  ['[1e400,{"a":-1E+309 }]', '[null,{"a":null}]'],
  ['[1e-400,-1e-99999,0.000]', '[0,0,0]'],
  ['[1.50,1.0000000000000000,2E3,1.000000000000E30]', '[1.5,1,2000,1e+30]'],
  ['[52.520006599999999,13.404953999999999]', '[52.520006599999999,13.404953999999999]'],
  [`[1e400,${LONG}]`, `[null,${LONG}]`],
])('%s is stored as %s', (text, stored) => {
  expect(stringifyExact(parseExact(text))).toBe(stored)
})

test('digits that JavaScript would not lose do not make a text inexact', () => {
  const point =
    '{"lat":52.52000659999999,"lng":13.404953999999998,"id":"12345678901234567890123","at":"1e999"}'

  expect(parseInexact(point)).toBeUndefined()
  expect(mayBeInexact('{"lat":52.52000659999999,"lng":13.404953999999998}')).toBe(false)
  expect(parseInexact(`{"a":${'0'.repeat(1)}.${'0'.repeat(30_000)}1}`)).toBeUndefined()
})

test.each([`{"a":${LONG}\n}`, `[${LONG} , 1]`, `${LONG}\r\n`, '[1e400]', '{"a":1E+400 }'])(
  'a long number is found: %j',
  (text) => {
    expect(mayBeInexact(text)).toBe(true)
  },
)

test('long runs of digits, exponents and spaces in a string are checked in one pass', () => {
  const parts = ['1'.repeat(500_000), '1e111'.repeat(100_000), `1e111${' '.repeat(500_000)}`]

  expect(parts.map((part) => mayBeInexact(JSON.stringify(part)))).toEqual([true, false, false])
})

test('a UUID and a timestamp are not taken for a long number', () => {
  const text = JSON.stringify({
    ids: ['41e1234f-9e99-4e12-8abc-1234567e1234', '1e999'],
    at: '2026-11-23T08:00:00.000Z',
  })

  expect(mayBeInexact(text)).toBe(false)
})

test('all other text is parsed as by JSON.parse', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify([value, 'a 1234567890123456 b'])
      expect(JSON.parse(stringifyExact(parseExact(text)))).toEqual(JSON.parse(text))
    }),
  )
})

test('no string of a client passes for a number, in the database, the API, an export, a search or a delivery', async () => {
  const { url, received } = await startHook()
  const folder = newFolder()
  const collector = await openCollector({
    store: join(folder, 'events.db'),
    config: { destinations: [{ name: 'Hook', type: 'webhook', url }] },
  })
  const text = '\u0001exact:5'
  const data = { text, list: [text, { [text]: text }] }
  const event = { type: 'track', event: text, userId: text, messageId: 'm', properties: data }
  const batch = JSON.stringify({ context: data, batch: [event] }).replace('{', `{"id":${LONG},`)

  await post(collector, '/v1/batch', batch.replace('"properties":{', `"properties":{"id":${LONG},`))

  await expect.poll(() => received.length).toBe(1)
  const get = async (path: string) => (await fetch(`${collector.url}${path}`)).text()
  const answers = await Promise.all(
    ['/api/events/1', '/api/events?view=full', '/api/export?format=ndjson', '/api/wait'].map(get),
  )
  for (const answer of [...answers, ...received]) {
    const { events: [shown] = [JSON.parse(answer)] } = JSON.parse(answer)
    const { message = shown } = shown
    expect(message).toMatchObject({ event: text, userId: text, context: data, properties: data })
  }
  expect(answers.slice(0, 3).every((answer) => answer.includes(`"id":${LONG}`))).toBe(true)
  const found = await Promise.all(
    [`"${text}"`, '5'].map((value) =>
      get(`/api/events?view=summary&q=${encodeURIComponent(`properties.text:${value}`)}`),
    ),
  )
  expect(found.map((answer) => JSON.parse(answer).events.length)).toEqual([1, 0])
  expect(JSON.parse(await get('/api/catalogue/track:%01exact:5')).schema.properties.text).toEqual({
    type: 'string',
  })
})

test('only a number that JavaScript cannot represent is stored as digits', () => {
  expect([LONG, 5, `"${LONG}"`, '1e3'].map((text) => exactDigits(parseExact(String(text))))).toEqual([
    LONG,
    undefined,
    undefined,
    undefined,
  ])
})

test('messages that differ only in the last digits are different', () => {
  const body = (id: string) => ({ body: `{"id":${id}}` })

  expect(contentComparer()(body(LONG), body('12345678901234567892'))).toBe(false)
})

async function startHook(): Promise<{ url: string; received: string[] }> {
  const received: string[] = []
  const url = await serve(async (request, response) => {
    received.push(await readBody(request))
    response.end()
  })
  return { url, received }
}

test('numbers of any length are stored, shown, exported and delivered with all digits', async () => {
  const { url, received } = await startHook()
  const collector = await openCollector({
    config: { destinations: [{ name: 'Hook', type: 'webhook', url }] },
  })
  const item = `{"type":"track","event":"a","userId":${LONG},"properties":{${NUMBERS}}}`
  const [single, batch] = [item, `{"context":{"trace":${LONG}},"batch":[${item}]}`]

  await post(collector, '/v1/track', single)
  await post(collector, '/v1/batch', batch)

  await expect.poll(() => received.length).toBe(2)
  const get = async (path: string) => (await fetch(`${collector.url}${path}`)).text()
  const shown = [await get('/api/events/1'), await get('/api/events/2')]
  const lists = [await get('/api/events?view=full'), await get('/api/export?format=ndjson')]
  for (const text of [...shown, ...lists, ...received]) {
    expect(text).toContain(`"properties":{${NUMBERS}}`)
    expect(text).toContain(`"userId":${LONG}`)
  }
  expect(JSON.parse(shown[0] ?? '')).toMatchObject({ userId: LONG })
  for (const text of [shown[1], ...lists, received.at(-1)]) expect(text).toContain(`"trace":${LONG}`)
  await post(collector, '/v1/identify', `{"userId":"ada","traits":{"account":${LONG}}}`)
  const brief = ['events?order=newest&view=summary', 'users/ada', 'catalogue/track:a'].map((path) =>
    get(`/api/${path}`),
  )
  const longest = `1${'0'.repeat(99)}`
  await post(collector, '/v1/track', `{"event":"Long","userId":"ada","properties":{"n":${longest}}}`)
  expect(await get('/api/events?order=newest&view=summary')).toContain(longest)
  for (const text of await Promise.all(brief)) {
    expect(text).toContain(LONG)
    expect(text).not.toContain(String(Number(LONG)))
  }
  // `events()` in the same process returns JavaScript numbers.
  expect(collector.events()[0]?.message).toMatchObject({ userId: Number(LONG) })
})

test('F151: only the message with a number that is out of range gets a warning, and null in its place', async () => {
  const collector = await openCollector()
  const item = (messageId: string, n: string) =>
    `{"type":"track","event":"a","userId":"u","messageId":"${messageId}","properties":{"n":${n}}}`

  await post(
    collector,
    '/v1/batch',
    `{"batch":[${item('a', '1e131072')},${item('b', LONG)},${item('c', '1e-400')}]}`,
  )
  await post(collector, '/v1/batch', `{"context":{"n":1e309},"batch":[${item('d', '1')}]}`)

  const { events } = (await (await fetch(`${collector.url}/api/events`)).json()) as {
    events: Array<{ warnings?: string[]; message: { properties: object; context: object } }>
  }
  expect(events.map(({ warnings }) => warnings)).toEqual([['number'], undefined, undefined, ['number']])
  expect(events.map(({ message }) => message.properties)).toEqual([
    { n: null },
    { n: Number(LONG) },
    { n: 0 },
    { n: 1 },
  ])
  expect(events[3]?.message.context).toEqual({ n: null })
})

test('a tracking plan sees null in place of a number that is out of range', async () => {
  const plan = join(newFolder(), 'plan.json')
  const schema = { type: 'object', properties: { n: { type: 'number' } } }
  writeFileSync(plan, JSON.stringify({ track: { a: schema } }))
  const collector = await openCollector({ plan })

  await post(collector, '/v1/track', '{"userId":"u","event":"a","properties":{"n":1e999}}')

  expect(collector.events()[0]).toMatchObject({ violations: 1, message: { properties: { n: null } } })
})
