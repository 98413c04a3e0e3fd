import { describe, expect, test } from 'vitest'
import { BodyLimit, Range, Resends } from '../../src/delivery/range.ts'
import { createItem } from '../../src/line/item.ts'

function succeed(limit: BodyLimit, times: number): void {
  for (let time = 0; time < times; time++) limit.succeed()
}

test.each([
  [3, 29, 2],
  [3, 32, 3],
  [3, 31, 2],
  [3, 21, 2],
  [3, 20, 1],
  [3, 1, 1],
])('of %d events of 10 bytes, a body of %d bytes holds %d, commas included', (count, maxBytes, expected) => {
  const items = Array.from({ length: count }, (_, seq) =>
    Object.assign(createItem('track', seq), { bytes: 10 }),
  )

  expect(new Range(items).countWithin(maxBytes)).toBe(expected)
})

test('ranges are sent again in the order of their events, each once', () => {
  const resends = new Resends()
  const [first, second, third] = [3, 5, 7].map(
    (order) => new Range([Object.assign(createItem('track', order), { order })]),
  ) as [Range, Range, Range]

  for (const range of [second, third, first, second]) resends.add(range)

  expect(resends.ranges).toEqual([first, second, third])
  expect(resends.take()).toBe(first)
})

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

  test('can be restored to an earlier value, but not to one below the present value', () => {
    const limit = new BodyLimit(1_000)
    limit.shrink(600)

    limit.restore(1_000)
    expect(limit.bytes).toBe(1_000)
    limit.restore(300)
    expect(limit.bytes).toBe(1_000)
  })
})
