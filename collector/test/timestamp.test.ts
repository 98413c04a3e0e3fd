import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readTime } from '../src/ingest/timestamp.ts'

const iso = (value: unknown) => {
  const time = readTime(value)
  return time && new Date(time.ms).toISOString()
}

test.each([
  ['2026-05-17T09:30:00.000Z', '2026-05-17T09:30:00.000Z'],
  ['2026-05-17t09:30:00z', '2026-05-17T09:30:00.000Z'],
  ['2026-05-17', '2026-05-17T00:00:00.000Z'],
  ['2026-05-17T11:30:00+02:00', '2026-05-17T09:30:00.000Z'],
  ['2026-05-17T04:30:00-05', '2026-05-17T09:30:00.000Z'],
  ['2026-05-17T09:30:00,5Z', '2026-05-17T09:30:00.500Z'],
  ['2026-05-17T09:30:00.123456789Z', '2026-05-17T09:30:00.123Z'],
  ['2026-05-17T24:00:00Z', '2026-05-18T00:00:00.000Z'],
  ['+275760-09-13T00:00:00Z', '+275760-09-13T00:00:00.000Z'],
])('%s is read as %s', (text, expected) => {
  expect(iso(text)).toBe(expected)
})

test.each([
  'yesterday',
  '',
  1_700_000_000_000,
  null,
  '2026-02-30',
  '20260517T093000Z',
  '2026-05-17T24:00:01Z',
  '2026-05-17T09:60:00Z',
  '2026-05-17T09:30:00+99:00',
  '2026-05-17T09:30:00Z and more',
  '+275760-09-13T00:00:00.001Z',
  '9'.repeat(1000),
])('%j is not a time', (value) => {
  expect(readTime(value)).toBeUndefined()
})

test('the output of toISOString is read back for any time', () => {
  fc.assert(
    fc.property(fc.date({ noInvalidDate: true }), (date) => {
      expect(readTime(date.toISOString())).toEqual({ ms: date.getTime(), hasZone: true })
    }),
  )
})

test('a time without a zone has the same meaning in every time zone of the collector', () => {
  const before = process.env['TZ']
  try {
    const times = ['America/New_York', 'Asia/Kolkata', 'UTC'].map((zone) => {
      process.env['TZ'] = zone
      return [new Date(2026, 0, 1).getTimezoneOffset(), iso('2026-01-01T12:00:00')]
    })
    expect(times.map(([offset]) => offset)).toEqual([300, -330, 0])
    expect(times.map(([, time]) => time)).toEqual(Array(3).fill('2026-01-01T12:00:00.000Z'))
  } finally {
    if (before === undefined) delete process.env['TZ']
    else process.env['TZ'] = before
  }
})
