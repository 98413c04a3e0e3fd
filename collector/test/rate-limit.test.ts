import { expect, test } from 'vitest'
import { RateLimit } from '../src/auth/rate-limit.ts'
import { fakeClock } from './support.ts'

test('no period of one second contains more requests than the rate, and waits are exact', async () => {
  const clock = fakeClock()
  const limit = new RateLimit(clock)
  const times: number[] = []
  const takeAll = async (count: number) => {
    let passed = 0
    for (let nth = 0; nth < count; nth++) {
      if ((await limit.take('shop', 100)) !== undefined) continue
      passed++
      times.push(clock.monotonic())
    }
    return passed
  }

  expect(await takeAll(1)).toBe(1)
  clock.advance(995)
  expect(await takeAll(200)).toBe(99)
  clock.advance(4)
  expect(await limit.take('shop', 100)).toBe(1)
  clock.advance(1)
  expect(await takeAll(200)).toBe(1)
  clock.advance(994)
  expect(await limit.take('shop', 100)).toBe(1)
  clock.advance(1)
  expect(await takeAll(200)).toBe(99)
  for (let step = 0; step < 5000; step++) {
    clock.advance((step * 7) % 13)
    await takeAll(step % 3)
  }

  let first = 0
  for (const [index, time] of times.entries()) {
    while ((times[first] ?? time) <= time - 1000) first++
    expect(index - first + 1).toBeLessThanOrEqual(100)
  }
})
