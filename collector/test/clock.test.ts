import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { LoginLimit } from '../src/auth/login-limit.ts'
import { RateLimit } from '../src/auth/rate-limit.ts'
import { fakeClock } from './support.ts'

const source = fileURLToPath(new URL('../src/', import.meta.url))
const READS_TIME =
  /\b(Date\.now|new Date\(\)|performance\.now|setTimeout|setInterval|process\.hrtime|Math\.random)\b/

test('system-clock.ts is the only module that reads a clock, sets a timer or draws a random number', () => {
  const modules = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  const readers = modules.filter((name) => READS_TIME.test(readFileSync(`${source}${name}`, 'utf8')))

  expect(readers).toEqual(['system-clock.ts'])
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

test('failed logins are counted for a whole IPv6 network of 64 bits, and for a single IPv4 address', () => {
  const limit = new LoginLimit(3, fakeClock())
  for (const end of ['1', '2:0:0:3', 'ffff:1:2:3'])
    limit.failed(`2001:db8:0:7:${end.includes(':') ? '' : ':'}${end}`)
  for (let i = 0; i < 3; i++) limit.failed('192.0.2.1')

  expect(limit.waitSeconds('2001:db8::7:9:9:9:9', 'a')).toBe(60)
  expect(limit.waitSeconds('2001:db8:0:8::1', 'a')).toBeUndefined()
  expect(limit.waitSeconds('192.0.2.1', 'a')).toBe(60)
  expect(limit.waitSeconds('192.0.2.2', 'a')).toBeUndefined()
})

test('if too many addresses fail, the oldest is forgotten, and not all; the same with credentials that have worked', () => {
  const limit = new LoginLimit(1, fakeClock())
  const address = (n: number) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`
  for (let n = 0; n <= 10_000; n++) limit.failed(address(n))
  for (let n = 0; n <= 1000; n++) limit.succeeded(`key-${n}`)

  expect(limit.waitSeconds(address(0), 'x')).toBeUndefined()
  expect(limit.waitSeconds(address(1), 'x')).toBe(60)
  expect(limit.waitSeconds(address(1), 'key-0')).toBe(60)
  expect(limit.waitSeconds(address(1), 'key-1')).toBeUndefined()
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
