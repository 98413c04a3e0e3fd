import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isoTime, msOf, toIsoTime } from '../../src/message/timestamp.ts'

describe('isoTime', () => {
  test('it writes the moment in UTC', () => {
    expect(isoTime(Date.UTC(2026, 10, 20, 9, 30, 0, 7))).toBe('2026-11-20T09:30:00.007Z')
  })

  test('calls for other milliseconds get other texts, in any order', () => {
    const moments = [5, 5, 6, 5, 7, 7, 0]

    expect(moments.map(isoTime)).toEqual(moments.map((ms) => new Date(ms).toISOString()))
  })
})

describe('msOf', () => {
  test('it reads what isoTime has written, lately or long ago', () => {
    const moments = [-1, 0, 5, Date.UTC(2026, 10, 20), 8.64e15]
    const texts = moments.map(isoTime)

    expect(texts.map(msOf)).toEqual(moments)
    expect([...texts].reverse().map(msOf)).toEqual([...moments].reverse())
  })
})

describe('toIsoTime', () => {
  const instant = '2026-11-20T09:30:00.000Z'

  test.each([
    ['a Date', new Date(instant), instant],
    ['milliseconds since the epoch', Date.parse(instant), instant],
    ['the epoch itself', 0, '1970-01-01T00:00:00.000Z'],
    ['milliseconds before the epoch', -1, '1969-12-31T23:59:59.999Z'],
    ['a fraction of a millisecond', 1.9, '1970-01-01T00:00:00.001Z'],
    ['ISO text in UTC', '2026-11-20T09:30:00Z', instant],
    ['ISO text with an offset', '2026-11-20T10:30:00+01:00', instant],
    ['ISO text with an offset without colon', '2026-11-20T10:30:00+0100', instant],
    ['ISO text with a fraction', '2026-11-20T09:30:00.123456789Z', '2026-11-20T09:30:00.123Z'],
    ['ISO text with a decimal comma', '2026-11-20T09:30:00,5Z', '2026-11-20T09:30:00.500Z'],
    ['ISO text without seconds', '2026-11-20T09:30Z', instant],
    ['a date alone, read as UTC', '2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['a moment in the past', '1999-12-31T23:59:59Z', '1999-12-31T23:59:59.000Z'],
    ['a moment in the future', '2126-01-01T00:00:00Z', '2126-01-01T00:00:00.000Z'],
    ['the last moment that a Date can hold', 8.64e15, '+275760-09-13T00:00:00.000Z'],
    ['a year before year 0', '-000044-03-15T00:00:00Z', '-000044-03-15T00:00:00.000Z'],
  ])('%s is the same instant in UTC', (_label, value, text) => {
    expect(toIsoTime(value)).toBe(text)
  })

  test.each([
    ['an invalid Date', new Date(Number.NaN)],
    ['text that is no time', 'garbage'],
    ['empty text', ''],
    ['a number as text', '1700000000000'],
    ['a time of day alone', '09:30:00'],
    ['an RFC 2822 date', 'Fri, 20 Nov 2026 09:30:00 GMT'],
    ['a month 13', '2026-13-01T00:00:00Z'],
    ['an hour 25', '2026-11-20T25:00:00Z'],
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['beyond what a Date can hold', 8.64e15 + 1],
    ['an object', { $date: 0 }],
    ['a boolean', true],
    ['a BigInt', 1n],
    ['null', null],
    ['undefined', undefined],
  ])('%s names no instant', (_label, value) => {
    expect(toIsoTime(value)).toBeUndefined()
  })

  test('a day that the month does not have names no instant', () => {
    expect(toIsoTime('2026-02-30T00:00:00Z')).toBeUndefined()
  })

  test('whatever text it is given, it answers with canonical ISO text or nothing', () => {
    const almostDates = fc.stringMatching(
      /^[+-]?\d{4,6}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:?\d\d)?)?$/,
    )

    fc.assert(
      fc.property(fc.oneof(almostDates, fc.string()), (text) => {
        const iso = toIsoTime(text)

        if (iso !== undefined) expect(new Date(iso).toISOString()).toBe(iso)
      }),
    )
  })
})
