import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import type { HTTPHeaders } from '../../src/http/client.ts'
import {
  backoffMs,
  drawOf,
  headerValue,
  parseHttpDate,
  retryAfterMs,
  spreadMs,
  statedMs,
} from '../../src/http/waits.ts'
import { FakeClock } from '../support/fake-clock.ts'

const NOW = '2026-11-20T09:30:00.000Z'
const NOW_MS = Date.parse(NOW)
const ORIGINAL_TZ = process.env['TZ']

function reading(headers: Record<string, string>): (name: string) => string | undefined {
  return (name) => headers[name]
}

function retryAfter(value: string, more: Record<string, string> = {}): number | undefined {
  return retryAfterMs(reading({ 'retry-after': value, ...more }), NOW_MS)
}

function rateLimit(headers: Record<string, string>): number | undefined {
  return statedMs(reading(headers), NOW_MS)
}

afterEach(() => {
  if (ORIGINAL_TZ === undefined) delete process.env['TZ']
  else process.env['TZ'] = ORIGINAL_TZ
})

describe('Retry-After in seconds', () => {
  test.each([
    ['2', 2_000],
    ['0', 0],
    ['007', 7_000],
    ['300', 300_000],
    [' 2 ', 2_000],
  ])('%j is %i ms', (value, ms) => {
    expect(retryAfter(value)).toBe(ms)
  })

  test.each(['301', '9999999999', '99999999999999999999'])('F44: %s is clamped to five minutes', (value) => {
    expect(retryAfter(value)).toBe(300_000)
  })

  test('without the header there is no wait', () => {
    expect(retryAfterMs(reading({}), NOW_MS)).toBeUndefined()
  })
})

describe.each(['UTC', 'America/New_York', 'Asia/Kolkata'])(
  'F39, F40: Retry-After as a date, in the zone %s',
  (zone) => {
    test('is read as GMT', () => {
      process.env['TZ'] = zone

      expect(retryAfter('Fri, 20 Nov 2026 09:30:03 GMT')).toBe(3_000)
    })

    test.each([
      ['ahead', 'Fri, 20 Nov 2026 10:30:00 GMT', 'Fri, 20 Nov 2026 10:30:03 GMT'],
      ['behind', 'Fri, 20 Nov 2026 08:30:00 GMT', 'Fri, 20 Nov 2026 08:30:03 GMT'],
    ])('from a server whose clock is an hour %s is compared with its Date header', (_label, date, value) => {
      process.env['TZ'] = zone

      expect(retryAfter(value, { date })).toBe(3_000)
    })
  },
)

describe('dates', () => {
  test.each(['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'])(
    'the month %s is read',
    (month) => {
      const expected = Date.parse(`1 ${month} 2026 00:00:00 GMT`)

      expect(parseHttpDate(`Thu, 01 ${month} 2026 00:00:00 GMT`)).toBe(expected)
    },
  )

  test('a leap second is the start of the next minute', () => {
    expect(parseHttpDate('Fri, 20 Nov 2026 09:30:60 GMT')).toBe(NOW_MS + 60_000)
  })

  test('a date in the past means no wait', () => {
    expect(retryAfter('Thu, 01 Jan 1970 00:00:00 GMT')).toBe(0)
  })

  test('a date far ahead is clamped to five minutes', () => {
    expect(retryAfter('Fri, 31 Dec 9999 23:59:59 GMT')).toBe(300_000)
  })

  test('a Date header that is not a date is ignored', () => {
    expect(retryAfter('Fri, 20 Nov 2026 09:30:03 GMT', { date: 'hier' })).toBe(3_000)
  })

  test.each([
    'Fri, 20 Nov 2026 09:30:03 CET',
    'Fri, 20 Nov 2026 09:30:03 +0100',
    'Fri, 20 Nov 2026 09:30 GMT',
    'Fri, 20 nov 2026 09:30:03 GMT',
    'Fri, 20 Xyz 2026 09:30:03 GMT',
    'Fri, 20 anF 2026 09:30:03 GMT',
    'Fri, 0 Nov 2026 09:30:03 GMT',
    'Fri, 32 Nov 2026 09:30:03 GMT',
    'Fri, 00 Nov 2026 09:30:03 GMT',
    'Fri, 20 Nov 2026 24:30:03 GMT',
    'Fri, 20 Nov 2026 25:30:03 GMT',
    'Fri, 20 Nov 2026 09:61:03 GMT',
    'Fri, 20 Nov 2026 09:30:61 GMT',
    '2026-11-20T09:30:03Z',
    'Fri Nov 20 09:30:03 2026 GMT',
  ])('%s is not an HTTP-date', (text) => {
    expect(parseHttpDate(text)).toBeUndefined()
    expect(retryAfter(text)).toBeUndefined()
  })
})

describe('F42: several values', () => {
  test.each([
    ['2, 7', 7_000],
    ['7, 2', 7_000],
    ['2,garbage', 2_000],
    ['garbage, , 2', 2_000],
    ['Fri, 20 Nov 2026 09:30:03 GMT, 2', 3_000],
    ['2, Fri, 20 Nov 2026 09:30:03 GMT', 3_000],
    ['Thu, 01 Jan 1970 00:00:00 GMT, 2', 2_000],
  ])('of %j the longest wait counts', (value, ms) => {
    expect(retryAfter(value)).toBe(ms)
  })
})

describe('F43: malformed values', () => {
  test.each([
    ['empty text', ''],
    ['a word', 'garbage'],
    ['a negative number', '-5'],
    ['a signed number', '+5'],
    ['a fraction', '1.5'],
    ['an exponent', '1e9'],
    ['hexadecimal', '0x10'],
    ['digits and letters', '120abc'],
    ['Infinity', 'Infinity'],
    ['NaN', 'NaN'],
    ['NUL', '\u0000'],
    ['digits of another script', '٣'],
    ['commas', ',,,'],
    ['100 KB of digits', '9'.repeat(100_000)],
  ])('%s means that the wait is unknown', (_label, value) => {
    expect(retryAfter(value)).toBeUndefined()
    expect(rateLimit({ 'retry-after': value })).toBeUndefined()
    expect(rateLimit({ 'x-ratelimit-reset': value })).toBeUndefined()
  })

  const hostile = [
    '9'.repeat(1_000_000),
    ','.repeat(1_000_000),
    ' '.repeat(1_000_000),
    'Fri, '.repeat(200_000),
    ';'.repeat(1_000_000),
    `;${' '.repeat(999_999)}`,
    '; '.repeat(500_000),
    `;t=${'9'.repeat(999_997)}`,
    'A'.repeat(1_000_000),
    'Aaaaaaaaa,'.repeat(100_000),
  ]

  test.each(hostile.map((value) => [value.slice(0, 12), value]))(
    'a megabyte of %j is refused in linear time',
    (_start, value) => {
      // The test measures no time: with a pattern that backtracks over a megabyte it would exceed its time limit.
      for (const name of ['retry-after', 'x-ratelimit-reset', 'ratelimit-reset', 'ratelimit', 'date']) {
        rateLimit({ [name]: value })
        retryAfter('Fri, 20 Nov 2026 09:30:03 GMT', { [name]: value })
      }

      expect(retryAfter(value)).toBeUndefined()
    },
  )

  test('S23: for any header, the result is undefined or a wait of 0 to 5 minutes', () => {
    const almost = fc
      .array(
        fc.constantFrom(
          'Fri',
          ', ',
          '20',
          ' ',
          'Nov',
          '-',
          '2026',
          '09:30:03',
          ' GMT',
          ',',
          ';',
          't=',
          '9',
          'e',
        ),
        { maxLength: 14 },
      )
      .map((parts) => parts.join(''))
    const value = fc.oneof(fc.string({ unit: 'binary' }), almost)
    const names = ['retry-after', 'x-ratelimit-reset', 'ratelimit-reset', 'ratelimit', 'date']
    const headers = fc.dictionary(fc.constantFrom(...names), value, { noNullPrototype: true })

    fc.assert(
      fc.property(headers, fc.constantFrom(NOW_MS, 0, -NOW_MS, 8.64e15), (headers, nowMs) => {
        for (const ms of [retryAfterMs(reading(headers), nowMs), statedMs(reading(headers), nowMs)]) {
          if (ms !== undefined && !(ms >= 0 && ms <= 300_000)) throw new Error(`${ms} ms`)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('F41: the headers of a rate limit', () => {
  const epochSeconds = NOW_MS / 1_000

  test.each([
    ['X-RateLimit-Reset in seconds', { 'x-ratelimit-reset': '2' }],
    ['X-RateLimit-Reset in epoch seconds', { 'x-ratelimit-reset': String(epochSeconds + 2) }],
    ['X-RateLimit-Reset in epoch milliseconds', { 'x-ratelimit-reset': String(NOW_MS + 2_000) }],
    ['X-RateLimit-Reset with spaces around it', { 'x-ratelimit-reset': ' 2 ' }],
    ['RateLimit-Reset', { 'ratelimit-reset': '2' }],
    ['RateLimit', { ratelimit: '"default";r=0;t=2' }],
    ['RateLimit with spaces', { ratelimit: '"default"; r=0; t=2' }],
    ['Retry-After', { 'retry-after': '2' }],
    [
      'Retry-After, preferred to all others',
      { 'retry-after': '2', 'x-ratelimit-reset': '60', ratelimit: '"d";t=9' },
    ],
    [
      'X-RateLimit-Reset, preferred to RateLimit-Reset',
      { 'x-ratelimit-reset': '2', 'ratelimit-reset': '60' },
    ],
    ['a malformed Retry-After is skipped', { 'retry-after': 'bientôt', 'x-ratelimit-reset': '2' }],
  ])('%s: 2 s', (_label, headers) => {
    expect(rateLimit(headers as unknown as Record<string, string>)).toBe(2_000)
  })

  test('an epoch is measured from the Date of the response', () => {
    const headers = {
      'x-ratelimit-reset': String(epochSeconds + 3_602),
      date: 'Fri, 20 Nov 2026 10:30:00 GMT',
    }

    expect(rateLimit(headers)).toBe(2_000)
  })

  test.each([
    ['999999999', 300_000],
    [String(epochSeconds + 86_400), 300_000],
    [String(NOW_MS + 86_400_000), 300_000],
  ])('%s is clamped to five minutes', (value, ms) => {
    expect(rateLimit({ 'x-ratelimit-reset': value })).toBe(ms)
  })

  test.each([
    ['no header', {}],
    ['a Retry-After of zero', { 'retry-after': '0' }],
    ['a date in the past', { 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }],
    ['an epoch in the past', { 'x-ratelimit-reset': '1000000000' }],
    ['epoch milliseconds in the past', { 'x-ratelimit-reset': '1000000000000' }],
    ['a reset of zero', { 'x-ratelimit-reset': '0' }],
    ['a RateLimit without t', { ratelimit: '"default";r=0' }],
  ])('%s does not say how long to wait', (_label, headers) => {
    expect(rateLimit(headers as unknown as Record<string, string>)).toBeUndefined()
  })
})

const LONGEST = [
  { waits: 1, ms: 1_000, awaitedMs: 1_000 },
  { waits: 2, ms: 2_000, awaitedMs: 2_000 },
  { waits: 3, ms: 4_000, awaitedMs: 4_000 },
  { waits: 4, ms: 8_000, awaitedMs: 8_000 },
  { waits: 5, ms: 16_000, awaitedMs: 8_000 },
  { waits: 6, ms: 32_000, awaitedMs: 8_000 },
  { waits: 7, ms: 60_000, awaitedMs: 8_000 },
  { waits: 1_000, ms: 60_000, awaitedMs: 8_000 },
  { waits: 100_000, ms: 60_000, awaitedMs: 8_000 },
]

describe('F32: the backoff', () => {
  test.each(LONGEST)('after $waits waits it is at most $ms ms, $awaitedMs while somebody waits', (one) => {
    expect(backoffMs(one.waits, false)).toBe(one.ms)
    expect(backoffMs(one.waits, true)).toBe(one.awaitedMs)
  })

  test('is drawn evenly from its upper half', () => {
    const clock = new FakeClock(undefined, 7)

    const draws = Array.from({ length: 10_000 }, () => drawOf(clock.random()))

    expect(Math.min(...draws)).toBeGreaterThanOrEqual(0.5)
    expect(Math.max(...draws)).toBeLessThan(1)
    const mean = draws.reduce((sum, one) => sum + one, 0) / draws.length
    expect(Math.abs(mean / 0.75 - 1)).toBeLessThan(0.02)
    expect(new Set(draws).size).toBeGreaterThan(9_900)
  })
})

test.each([
  [2_000, 0, 2_000],
  [2_000, 0.5, 2_200],
  [60_000, 0.5, 65_000],
  [300_000, 0.999, 309_990],
  [0, 0.9, 0],
])('F148: a stated wait of %i ms with the random number %d becomes %i ms', (waitMs, random, spread) => {
  expect(spreadMs(waitMs, random)).toBeCloseTo(spread, 6)
})

test('F33, F148: of 200 clients with the same wait of 60 s, at most a quarter comes back in any one second', () => {
  const seconds = Array.from({ length: 200 }, (_, client) =>
    Math.floor(spreadMs(60_000, client / 200) / 1_000),
  )

  for (const second of seconds) expect(seconds.filter((one) => one === second).length).toBeLessThanOrEqual(50)
})

describe('reading a header', () => {
  const shapes: [string, HTTPHeaders][] = [
    ['a Headers object', new Headers({ 'Retry-After': '2' })],
    ['a Map-like object', { get: (name: string) => (name === 'retry-after' ? '2' : null), forEach() {} }],
    ['names in lower case', { 'retry-after': '2' }],
    ['names in odd case', { 'rEtRy-AfTeR': '2' }],
    ['a value that is a number', { 'retry-after': 2 }],
  ]

  test.each(shapes)('finds it in %s', (_label, headers) => {
    expect(headerValue(headers, 'retry-after')).toBe('2')
  })

  test('returns all values of a header', () => {
    expect(headerValue({ 'retry-after': ['2', '7'] }, 'retry-after')).toBe('2, 7')
  })

  test.each<[string, unknown]>([
    ['no headers', undefined],
    ['a Headers object without it', new Headers()],
    ['a null value', { 'retry-after': null }],
    ['an object as value', { 'retry-after': { seconds: 2 } }],
    ['text', 'retry-after: 2'],
    ['a get that throws', { get: fail, forEach() {} }],
    ['a property that throws', Object.defineProperty({}, 'retry-after', { get: fail })],
    ['a list with values that cannot be text', { 'retry-after': [Object.create(null)] }],
  ])('finds none in %s', (_label, headers) => {
    expect(headerValue(headers as HTTPHeaders, 'retry-after')).toBeUndefined()
  })
})

function fail(): never {
  throw new Error('non')
}
