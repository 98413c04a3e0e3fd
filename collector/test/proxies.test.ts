import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { TrustedProxies } from '../src/network-address.ts'
import { openCollector, post, track } from './support.ts'

function callerOf(trusted: string[], remoteAddress: string, forwarded?: string | string[]): string {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return new TrustedProxies(trusted).callerOf({
    socket: { remoteAddress },
    headers,
  } as unknown as IncomingMessage)
}

test.each([
  ['no proxy is trusted', [], '10.0.0.1', '203.0.113.9', '10.0.0.1'],
  ['the caller is not a trusted proxy', ['10.0.0.2'], '10.0.0.1', '203.0.113.9', '10.0.0.1'],
  ['a trusted proxy names the caller', ['10.0.0.1'], '10.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['a network is trusted', ['10.0.0.0/8'], '10.9.8.7', '203.0.113.9', '203.0.113.9'],
  ['there are two trusted proxies', ['10.0.0.0/8'], '10.0.0.1', '203.0.113.9, 10.0.0.2', '203.0.113.9'],
  [
    'the caller forged the beginning of the header',
    ['10.0.0.1'],
    '10.0.0.1',
    '1.2.3.4, 203.0.113.9',
    '203.0.113.9',
  ],
  ['all addresses are trusted', ['10.0.0.0/8'], '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ['the header is garbage', ['10.0.0.1'], '10.0.0.1', 'unknown', '10.0.0.1'],
  ['the header is absent', ['10.0.0.1'], '10.0.0.1', undefined, '10.0.0.1'],
  ['the addresses are IPv6', ['::1', '2001:db8::/32'], '::1', '2001:db9::7, 2001:db8::1', '2001:db9::7'],
  ['the proxy is IPv4-mapped IPv6', ['127.0.0.1'], '::ffff:127.0.0.1', '203.0.113.9', '203.0.113.9'],
])('the address of the caller is found if %s', (_case, trusted, remote, forwarded, expected) => {
  expect(callerOf(trusted, remote, forwarded)).toBe(expected)
})

test('context.direct uses the address that a trusted proxy names', async () => {
  const collector = await openCollector({ config: { trustedProxies: ['127.0.0.1'] } })
  const sceptic = await openCollector()
  const headers = { 'x-forwarded-for': '203.0.113.9' }
  const message = { context: { direct: true } }

  for (const one of [collector, sceptic]) await post(one, '/v1/track', track(message), headers)

  expect(collector.events()[0]?.message?.context.ip).toBe('203.0.113.9')
  expect(sceptic.events()[0]?.message?.context.ip).toBe('127.0.0.1')
})
