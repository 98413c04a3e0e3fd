import { describe, expect, test } from 'vitest'
import { BodyLimit } from '../../src/delivery/range.ts'

function succeed(limit: BodyLimit, times: number): void {
  for (let time = 0; time < times; time++) limit.succeed()
}

describe('the limit of bytes in a request', () => {
  test('is half of the refused size, and never more than before', () => {
    const limit = new BodyLimit(1_000)

    limit.shrink(901)
    expect(limit.bytes).toBe(450)
    limit.shrink(950)
    expect(limit.bytes).toBe(450)
  })

  test('grows by a tenth with every 20 successes, up to its first value', () => {
    const limit = new BodyLimit(1_000)
    limit.shrink(1_600)
    const steps: number[] = []

    for (let step = 0; step < 4; step++) {
      succeed(limit, 19)
      steps.push(limit.bytes)
      succeed(limit, 1)
      steps.push(limit.bytes)
    }

    expect(steps).toEqual([800, 880, 880, 968, 968, 1_000, 1_000, 1_000])
  })

  test('grows from a few bytes as well', () => {
    const limit = new BodyLimit(1_000)
    limit.shrink(4)

    succeed(limit, 20)

    expect(limit.bytes).toBe(3)
  })

  test('counts the successes from the last refusal', () => {
    const limit = new BodyLimit(1_000)
    limit.shrink(1_000)
    succeed(limit, 19)
    limit.shrink(500)
    succeed(limit, 19)

    expect(limit.bytes).toBe(250)
  })

  test('returns to its earlier value, but never below its present one', () => {
    const limit = new BodyLimit(1_000)
    limit.shrink(600)

    limit.restore(1_000)
    expect(limit.bytes).toBe(1_000)
    limit.restore(300)
    expect(limit.bytes).toBe(1_000)
  })
})
