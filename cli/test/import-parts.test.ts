import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { cast, timeResult } from '../src/import/cast.ts'
import { deriveMessageId } from '../src/import/message-id.ts'
import { readTime } from '../src/import/time.ts'
import { showProgress } from '../src/output/progress.ts'
import { duration, printable, quoted } from '../src/output/text.ts'
import { lossOf, parseExact, repeatedKey } from '../src/settings/exact-json.ts'

describe('timestamps', () => {
  test.each([
    ['2024-01-02', '2024-01-02T00:00:00.000Z'],
    ['2024-01', '2024-01-01T00:00:00.000Z'],
    ['2024-01-02T03:04:05Z', '2024-01-02T03:04:05.000Z'],
    ['2024-01-02 03:04:05+00', '2024-01-02T03:04:05.000Z'],
    ['2024-01-02T03:04:05.5+0530', '2024-01-01T21:34:05.500Z'],
    ['2024-01-02 03:04:05.123 -0800', '2024-01-02T11:04:05.123Z'],
    ['2024-01-02 03:04:05.123000 UTC', '2024-01-02T03:04:05.123Z'],
    ['Tue, 02 Jan 2024 03:04:05 -0800', '2024-01-02T11:04:05.000Z'],
    ['/Date(1704164645123)/', '2024-01-02T03:04:05.123Z'],
    [1_704_164_645_123, '2024-01-02T03:04:05.123Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ])('%j is %s', (value, expected) => {
    expect(timeResult(readTime(value, {}))).toEqual({ value: expected })
  })

  test.each([
    ['2024-01-02 03:04:05', 'no_zone', '2024-01-02T03:04:05.000Z'],
    ['2024-01-02T03:04', 'no_zone', '2024-01-02T03:04:00.000Z'],
    ['2024-01-02T03:04:05,123456Z', 'time_digits', '2024-01-02T03:04:05.123Z'],
  ])('%j is read with the note %s', (value, note, expected) => {
    expect(timeResult(readTime(value, {}))).toEqual({ value: expected, notes: [['', note]] })
  })

  test.each([
    ['dd.mm.yyyy', '2.1.2024', '2024-01-02T00:00:00.000Z'],
    ['d/m/yyyy', '02/01/2024 15:04', '2024-01-02T15:04:00.000Z'],
    ['m/d/yyyy', '1/2/2024 12:04:05 AM', '2024-01-02T00:04:05.000Z'],
    ['m/d/yyyy', '1/2/2024, 12:04 PM', '2024-01-02T12:04:00.000Z'],
    ['yyyy.mm.dd', '2024.01.02', '2024-01-02T00:00:00.000Z'],
    ['dd.mm.yyyy', '2024-01-02', '2024-01-02T00:00:00.000Z'],
  ])('with --date %s, %s is %s', (date, value, expected) => {
    expect(timeResult(readTime(value, { date }))).toMatchObject({ value: expected })
  })

  test.each([
    ['2024-02-30', /no such day/],
    ['2024-01-02T25:00Z', /no such day/],
    ['0000-00-00 00:00:00', /no such day/],
    ['0001-01-01T00:00:00Z', /from 2000.*\(0001-01-01\); --any-time/],
    ['1999-12-31', /--any-time/],
    ['2199-01-01', /--any-time/],
    ['yesterday', /expected a date in ISO 8601/],
    ['1704164645', /in seconds it is 2024-01-02: use timestamp:s/],
    [1_704_164_645, /in seconds it is 2024-01-02: use timestamp:s/],
    ['45293.5', /day number of a spreadsheet \(2024-01-02\)/],
    [0, /--any-time/],
  ])('%j is refused with what helps', (value, message) => {
    expect(timeResult(readTime(value, {}))).toEqual({ wrong: expect.stringMatching(message) })
  })

  test('with --any-time, a time before 2000 is read', () => {
    expect(timeResult(readTime('1998-05-17', { anyTime: true }))).toEqual({
      value: '1998-05-17T00:00:00.000Z',
    })
  })

  test.each([
    ['1704164645', 's', '2024-01-02T03:04:05.000Z', []],
    ['1704164645.1239', 's', '2024-01-02T03:04:05.123Z', ['time_digits']],
    ['1704164645.12', 's', '2024-01-02T03:04:05.120Z', []],
    [1_704_164_645_123, 'ms', '2024-01-02T03:04:05.123Z', []],
    ['1704164645123456', 'us', '2024-01-02T03:04:05.123Z', ['time_digits']],
    ['1704164645123000', 'us', '2024-01-02T03:04:05.123Z', []],
    ['1704164645123000000', 'ns', '2024-01-02T03:04:05.123Z', []],
  ] as const)('%j in %s is %s', (value, unit, expected, notes) => {
    const result = cast(value, unit)

    expect(result).toMatchObject({ value: expected })
    expect(('notes' in result ? (result.notes ?? []) : []).map(([, kind]) => kind)).toEqual(notes)
  })

  test.each([
    ['1704164645123456', 'ms', 'timestamp:us'],
    ['1704164645123', 's', 'timestamp:ms'],
    ['1704164645', 'ms', 'timestamp:s'],
    ['1704164645123456789', 'us', 'timestamp:ns'],
    ['soon', 'ms', 'expected milliseconds since 1970'],
  ] as const)('%j in %s is refused with the unit that fits', (value, unit, hint) => {
    expect(cast(value, unit)).toEqual({ wrong: expect.stringContaining(hint) })
  })
})

describe('casts', () => {
  test.each([
    ['42.5', 'number', 42.5],
    [' -1e3 ', 'number', -1000],
    ['yes', 'boolean', true],
    ['F', 'boolean', false],
    ['WAHR', 'boolean', true],
    ['FAUX', 'boolean', false],
    ['{"a":1}', 'json', { a: 1 }],
    [{ a: 1 }, 'json', { a: 1 }],
    [7, 'text', '7'],
    [null, 'number', null],
  ] as const)('%j is cast to %s', (value, to, expected) => {
    expect(cast(value, to)).toMatchObject({ value: expected })
  })

  test.each([
    [',', '12,50', 12.5],
    [',', '1.234.567,5', 1_234_567.5],
    [',', "1'234", 1234],
    [',', '1\u202f234,5', 1234.5],
    ['.', '-1,234.5', -1234.5],
  ] as const)('with --decimal %s, %s is a number', (decimal, text, expected) => {
    expect(cast(text, 'number', { decimal })).toEqual({ value: expected })
  })

  test.each([
    ['1,5', undefined],
    ['1,234.5', undefined],
    ['1.23,5', ','],
    ['1,2,3', ','],
    ['1,23.5', '.'],
  ] as const)('%s is no number with --decimal %s', (text, decimal) => {
    expect(cast(text, 'number', { decimal })).toHaveProperty('wrong')
  })

  test.each([
    ['', 'number'],
    ['0x10', 'number'],
    ['maybe', 'boolean'],
    ['{', 'json'],
  ] as const)('%j is not a valid %s', (value, to) => {
    expect(cast(value, to)).toHaveProperty('wrong')
  })
})

describe('numbers that a double cannot hold', () => {
  test.each([
    ['9007199254740991', undefined],
    ['9007199254740993', 'large'],
    ['-1413617112501850000', 'large'],
    ['1e999', 'large'],
    ['0.1', undefined],
    ['12.5000000000000000000', undefined],
    ['1.0e3', undefined],
    ['0.10000000000000001', undefined],
    ['123456789.1234567890123', 'rounded'],
    ['9007199254740993.0', 'rounded'],
    ['1e-400', 'rounded'],
    ['0', undefined],
  ])('%s: %s', (literal, loss) => {
    expect(lossOf(literal)).toBe(loss)
  })

  test('they are found with their path, wherever they are, and texts stay as they are', () => {
    const text =
      '{"a":{"b":[1,1413617112501850121]},"c":"1413617112501850121","d":0.12345678901234567890,"e":"\\ud800"}'

    expect(parseExact(text)).toEqual({
      value: {
        a: { b: [1, '1413617112501850121'] },
        c: '1413617112501850121',
        d: 0.12345678901234568,
        e: '\ud800',
      },
      losses: [
        ['e', 'surrogate'],
        ['a.b.1', 'large'],
        ['d', 'rounded'],
      ],
    })
    expect(() => parseExact('{1413617112501850121:1}')).toThrow(SyntaxError)
  })

  test('a key that is there twice in one object is found', () => {
    expect(repeatedKey('{"a":{"b":1},"b":{"b":"a"},"c":["a","a"]}')).toBeUndefined()
    expect(repeatedKey('{"x":{"a":1, "\\u0061" : 2}}')).toEqual({ key: 'a', offset: 13 })
  })
})

test('a messageId depends on the file name, line number and content, and is short enough for the service', () => {
  const at = (line: number, text: string) => ({ line, end: 9, bytes: Buffer.from(text) })
  const first = at(1, 'x')
  const ids = [
    deriveMessageId('a.csv', first),
    deriveMessageId('b.csv', first),
    deriveMessageId('a.csv', at(2, 'x')),
    deriveMessageId('a.csv', at(1, 'y')),
    deriveMessageId('a.csv1', first),
    deriveMessageId('a.csv', { ...first, isInsideLine: true }),
    deriveMessageId('a.csv', { ...first, isInsideLine: true, end: 20 }),
  ]

  expect(new Set(ids).size).toBe(ids.length)
  expect(ids[0]).toBe(deriveMessageId('a.csv', { ...first, end: 10 }))
  for (const id of ids) expect(id).toMatch(/^import-[\w-]{32}$/)
})

test('text from a file or service becomes printable and short, and durations become readable', () => {
  expect(printable('a\u001b[31m\n\u202eb')).toBe('a\\u001b[31m\\u000a\\u202eb')
  expect(quoted('x'.repeat(100)).length).toBeLessThan(60)
  expect([duration(400), duration(12_000), duration(200_000), duration(7_500_000)]).toEqual([
    '0.4 s',
    '12 s',
    '3 min 20 s',
    '2 h 5 min',
  ])
})

test('the progress is a line every five seconds, with the reason of a wait', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const log = vi.fn()
  const read = vi.fn(() => ({ done: 500, failed: 12, share: 0.259, paused: undefined as string | undefined }))
  const end = showProgress(read, log)

  vi.advanceTimersByTime(5_000)
  read.mockReturnValue({ done: 1_000, failed: 12, share: 0.5, paused: 'waits 60 s: [503]' })
  vi.advanceTimersByTime(5_000)
  end()
  vi.advanceTimersByTime(60_000)

  expect(log.mock.calls.flat()).toEqual([
    '25 %, 500 lines, 12 failed, 100/s',
    '50 %, 1,000 lines, 12 failed, waits 60 s: [503]',
  ])
})
