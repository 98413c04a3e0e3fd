import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { type Action, classify, parseHttpDate, rateLimitMs, retryAfterMs } from '../../src/policy/response.ts'

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
  return rateLimitMs(reading(headers), NOW_MS)
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
        for (const ms of [retryAfterMs(reading(headers), nowMs), rateLimitMs(reading(headers), nowMs)]) {
          if (ms === undefined) continue
          expect(ms).toBeGreaterThanOrEqual(0)
          expect(ms).toBeLessThanOrEqual(300_000)
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

/** The table of docs/spec.md, section 8: the action for each range of statuses, with a write key and with a token. */
const POLICY: [from: number, to: number, writeKey: Action, token: Action][] = [
  [99, 199, 'retry', 'retry'],
  [200, 299, 'delivered', 'delivered'],
  [300, 399, 'address', 'address'],
  [400, 400, 'bisect', 'bisect'],
  [401, 401, 'auth', 'renew'],
  [402, 402, 'rejected', 'rejected'],
  [403, 403, 'auth', 'auth'],
  [404, 405, 'address', 'address'],
  [406, 406, 'rejected', 'rejected'],
  [407, 407, 'address', 'address'],
  [408, 408, 'retry', 'retry'],
  [409, 409, 'rejected', 'rejected'],
  [410, 410, 'retry', 'retry'],
  [411, 412, 'rejected', 'rejected'],
  [413, 413, 'split', 'split'],
  [414, 421, 'rejected', 'rejected'],
  [422, 422, 'bisect', 'bisect'],
  [423, 424, 'rejected', 'rejected'],
  [425, 425, 'retry', 'retry'],
  [426, 428, 'rejected', 'rejected'],
  [429, 429, 'limited', 'limited'],
  [430, 459, 'rejected', 'rejected'],
  [460, 460, 'retry', 'retry'],
  [461, 499, 'rejected', 'rejected'],
  [500, 500, 'retry', 'retry'],
  [501, 501, 'address', 'address'],
  [502, 504, 'retry', 'retry'],
  [505, 505, 'address', 'address'],
  [506, 510, 'retry', 'retry'],
  [511, 511, 'auth', 'renew'],
  [512, 599, 'retry', 'retry'],
  [600, 999, 'retry', 'retry'],
]

const rows = POLICY.flatMap(([from, to, writeKey, token]) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ status: from + index, writeKey, token })),
)

describe('F23, F24, F45: the status policy', () => {
  test('the table has every status from 99 to 999 once', () => {
    expect(rows.map(({ status }) => status)).toEqual(Array.from({ length: 901 }, (_, index) => 99 + index))
  })

  test.each(rows)(
    'the action after $status is $writeKey with a write key and $token with a token',
    ({ status, writeKey, token }) => {
      expect(classify(status, false)).toBe(writeKey)
      expect(classify(status, true)).toBe(token)
    },
  )

  test.each([0, -1, 1_000, Number.MAX_SAFE_INTEGER])(
    '%i, which is not a status, leads to a retry',
    (status) => {
      expect(classify(status, false)).toBe('retry')
    },
  )
})
