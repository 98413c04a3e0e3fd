import { describe, expect, test } from 'vitest'
import { backoffMs, spreadMs } from '../../src/policy/response.ts'
import { FakeClock } from '../support/fake-clock.ts'

const BOUNDS = [
  { failures: 1, fromMs: 500, toMs: 1_000 },
  { failures: 2, fromMs: 1_000, toMs: 2_000 },
  { failures: 3, fromMs: 2_000, toMs: 4_000 },
  { failures: 4, fromMs: 4_000, toMs: 8_000 },
  { failures: 5, fromMs: 8_000, toMs: 16_000 },
  { failures: 6, fromMs: 16_000, toMs: 32_000 },
  { failures: 7, fromMs: 30_000, toMs: 60_000 },
  { failures: 8, fromMs: 30_000, toMs: 60_000 },
  { failures: 1_000, fromMs: 30_000, toMs: 60_000 },
  { failures: 100_000, fromMs: 30_000, toMs: 60_000 },
]

describe('F32: the backoff', () => {
  test.each(BOUNDS)('after $failures failures it is $fromMs to $toMs ms', ({ failures, fromMs, toMs }) => {
    expect(backoffMs(failures, 0)).toBe(fromMs)
    expect(backoffMs(failures, 1 - 2 ** -32)).toBeCloseTo(toMs, 3)
    expect(backoffMs(failures, 1 - 2 ** -32)).toBeLessThan(toMs)
  })

  test.each(BOUNDS)(
    'the delays after $failures failures are spread evenly between half their limit and the limit',
    ({ failures, fromMs, toMs }) => {
      const clock = new FakeClock(undefined, failures)

      const delays = Array.from({ length: 10_000 }, () => backoffMs(failures, clock.random()))

      expect(Math.min(...delays)).toBeGreaterThanOrEqual(fromMs)
      expect(Math.max(...delays)).toBeLessThan(toMs)
      const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length
      expect(Math.abs(mean / ((fromMs + toMs) / 2) - 1)).toBeLessThan(0.02)
      expect(new Set(delays).size).toBeGreaterThan(9_900)
    },
  )
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

test('F148: of 200 clients with the same wait of 60 s, at most a quarter comes back in any one second', () => {
  const seconds = Array.from({ length: 200 }, (_, client) =>
    Math.floor(spreadMs(60_000, client / 200) / 1_000),
  )

  for (const second of seconds) expect(seconds.filter((one) => one === second).length).toBeLessThanOrEqual(50)
})
