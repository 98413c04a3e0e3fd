import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import {
  exactDigits,
  mayBeInexact,
  parseExact,
  stringifyExact,
  withExactNumbers,
} from '../src/json/exact-json.ts'
import { contentComparer } from '../src/store/same-content.ts'
import { openCollector, post } from './support.ts'

const LONG = '12345678901234567891'
const NUMBERS = `"id":${LONG},"rate":0.12345678901234567891,"far":1e400,"plain":1.5,"text":"${LONG}"`

test.each([
  `{${NUMBERS},"list":[-${LONG},9007199254740993,{"${LONG}":"\\"${LONG}"}]}`,
  `["\\u0001exact:5","${LONG}"]`.replace('\\u0001exact:5', 'a\\\\'),
  LONG,
  '[1e+1000,1.0000000000000000,123456789012345680000]',
  '[123456789.12345678901,12345678901234.123456,{"a":-1234567.891234567890}]',
  '{"a":1e400}',
])('%s is written with the same digits as it was read', (text) => {
  expect(stringifyExact(parseExact(text))).toBe(text)
  expect(stringifyExact(withExactNumbers(JSON.parse(text), parseExact(text)))).toBe(text)
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

test.each([
  { '\u0001exact:1': 'a key' },
  ['in the middle "\u0001exact:2" of a text', 'at its beginning: \u0001exact:3', ',"\u0001exact:4"'],
  ['\u0001exact:1.e+-', '\u0001exact:', '\u0001exact:00', '\u0001exact:1 '],
])('a string that looks like the internal marker of a long number is unchanged: %j', (value) => {
  expect(JSON.parse(stringifyExact(value))).toEqual(value)
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
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    received.push(body)
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
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
