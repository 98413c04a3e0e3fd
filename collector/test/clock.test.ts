import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { LoginLimit } from '../src/auth/login-limit.ts'
import { RateLimit } from '../src/auth/rate-limit.ts'
import { fakeClock } from './support.ts'

const source = fileURLToPath(new URL('../src/', import.meta.url))
const READS_TIME =
  /\b(Date\.now|new Date\(\)|performance\.now|setTimeout|setInterval|process\.hrtime|Math\.random)\b/

test('clock.ts is the only module that reads a clock, sets a timer or draws a random number', () => {
  const modules = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  const readers = modules.filter((name) => READS_TIME.test(readFileSync(`${source}${name}`, 'utf8')))

  expect(readers).toEqual(['clock.ts'])
})

test('setting the wall clock back an hour does not lengthen the wait after failed logins', () => {
  const clock = fakeClock()
  const limit = new LoginLimit(3, clock)
  for (let i = 0; i < 3; i++) limit.failed('192.0.2.1')

  clock.jump(-3_600_000)

  expect(limit.waitSeconds('192.0.2.1', 'a new key')).toBe(60)
  clock.advance(60_000)
  expect(limit.waitSeconds('192.0.2.1', 'a new key')).toBeUndefined()
})

test('setting the wall clock back or forward does not change the rate limit', async () => {
  const clock = fakeClock()
  const rate = new RateLimit(clock)
  await rate.take('shop', 1)

  clock.jump(3_600_000)
  expect(await rate.take('shop', 1)).toBe(1000)
  clock.jump(-7_200_000)
  expect(await rate.take('shop', 1)).toBe(1000)
})
