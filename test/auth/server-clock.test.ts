import { describe, expect, test } from 'vitest'
import { ServerClock } from '../../src/auth/server-clock.ts'

const HOUR = 3_600_000
const YEAR = 365.25 * 24 * HOUR
const TRUE_MS = Date.parse('2026-11-20T09:30:00Z')

function createClock(localMs: number) {
  const host = { localMs, now: () => host.localMs }
  return { host, clock: new ServerClock(host) }
}

test('without a refusal the time is the local time', () => {
  const { clock } = createClock(TRUE_MS)

  expect(clock.nowMs()).toBe(TRUE_MS)
})

// docs/faults.md, row F64.
describe.each([
  ['30 s ahead', 30_000],
  ['30 s behind', -30_000],
  ['an hour ahead', HOUR],
  ['an hour behind', -HOUR],
  ['ten years ahead', 10 * YEAR],
  ['ten years behind', -10 * YEAR],
])('F63: a local clock that is %s', (_, wrongMs) => {
  test.each([true, false])('is corrected after one refusal (which blames the clock: %s)', (isBlamed) => {
    const { clock } = createClock(TRUE_MS + wrongMs)

    expect(clock.correct(TRUE_MS, isBlamed)).toBe(true)
    expect(clock.nowMs()).toBe(TRUE_MS)
  })
})

test('a correction that the server accepts is kept, and follows the local clock', () => {
  const { host, clock } = createClock(TRUE_MS - HOUR)
  clock.correct(TRUE_MS, true)
  clock.confirm()

  host.localMs += 5_000

  expect(clock.nowMs()).toBe(TRUE_MS + 5_000)
})

test('a correction that the server also refuses is undone, and not tried again at once', () => {
  const { clock } = createClock(TRUE_MS)

  expect(clock.correct(TRUE_MS + 3 * HOUR, false)).toBe(true)
  expect(clock.correct(TRUE_MS + 3 * HOUR, true)).toBe(false)

  expect(clock.nowMs()).toBe(TRUE_MS)
})

test('a clock that jumps after it was corrected is corrected again', () => {
  const { host, clock } = createClock(TRUE_MS - HOUR)
  clock.correct(TRUE_MS, true)
  clock.confirm()

  host.localMs -= HOUR

  expect(clock.correct(TRUE_MS, true)).toBe(true)
  expect(clock.nowMs()).toBe(TRUE_MS)
})

test.each([
  ['absent', undefined],
  ['not a number', Number.NaN],
  ['in 1970', 0],
  ['in 9999', Date.UTC(9999, 0)],
])('F64: a Date header that is %s changes nothing', (_, dateMs) => {
  const { clock } = createClock(TRUE_MS)

  expect(clock.correct(dateMs, true)).toBe(false)
  expect(clock.nowMs()).toBe(TRUE_MS)
})

test('a difference of seconds causes no new request, unless the server blames the clock', () => {
  const { clock } = createClock(TRUE_MS)

  expect(clock.correct(TRUE_MS - 4_000, false)).toBe(false)
  expect(clock.correct(TRUE_MS - 4_000, true)).toBe(true)
})
