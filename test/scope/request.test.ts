import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { type RequestScopeOptions, requestScope } from '../../src/scope.ts'

/** Calls `read` with the request that `node:http` parses from these raw bytes, and returns the result. */
async function receive<Value>(bytes: string, read: (request: IncomingMessage) => Value): Promise<Value> {
  let value: Value | undefined
  const server = createServer({ maxHeaderSize: 262_144 }, (request, response) => {
    value = read(request)
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as { port: number }).port, '127.0.0.1')
  socket.end(bytes, 'latin1')
  socket.resume()
  await once(socket, 'close')
  server.close()
  if (value === undefined) throw new Error('the server has refused the request')
  return value
}

function get(...headers: string[]): string {
  return ['GET / HTTP/1.1', 'Host: shop.example', 'Connection: close', ...headers, '', ''].join('\r\n')
}

function node(headers: Record<string, string | string[]>, remoteAddress = '10.0.0.7') {
  return { headers, socket: { remoteAddress } }
}

const FORGED = [
  'X-Forwarded-For: 198.51.100.66',
  'Forwarded: for=198.51.100.66;proto=https;host=evil.example',
  'X-Real-IP: 198.51.100.66',
]

describe('a request of node:http', () => {
  test('gives address, user agent and language', async () => {
    const bytes = get(
      'User-Agent: Mozilla/5.0 (X11; Linux x86_64)',
      'Accept-Language: fr;q=0.7, de-CH, *;q=0.1',
    )

    expect(await receive(bytes, (request) => requestScope(request))).toEqual({
      context: {
        ip: '127.0.0.1',
        userAgent: 'Mozilla/5.0 (X11; Linux x86_64)',
        locale: 'de-CH',
      },
    })
  })

  test('ignores forged headers by default', async () => {
    const honest = await receive(get(), (request) => requestScope(request))

    expect(await receive(get(...FORGED), (request) => requestScope(request))).toEqual(honest)
    expect(await receive(get(...FORGED), (request) => requestScope(request, { trustProxy: false }))).toEqual(
      honest,
    )
  })

  test('joins several lines of X-Forwarded-For', async () => {
    const bytes = get('X-Forwarded-For: 192.0.2.1', 'x-forwarded-for: 192.0.2.2, 192.0.2.3')
    const ips = await receive(bytes, (request) =>
      [0, 1, 2, 3, 4].map((trustProxy) => requestScope(request, { trustProxy }).context.ip),
    )

    expect(ips).toEqual(['127.0.0.1', '192.0.2.3', '192.0.2.2', '192.0.2.1', '192.0.2.1'])
  })
})

describe('behind trusted proxies', () => {
  const chain = { 'x-forwarded-for': '203.0.113.66, 198.51.100.9, 10.1.0.1' }

  test.each<[string, RequestScopeOptions['trustProxy'], string | undefined]>([
    ['no proxy', 0, '10.0.0.7'],
    ['one', 1, '10.1.0.1'],
    ['two', 2, '198.51.100.9'],
    ['more than there are', 9, '203.0.113.66'],
  ])('trusting %s decides which address counts', (_who, trustProxy, ip) => {
    expect(requestScope(node(chain), { trustProxy }).context.ip).toBe(ip)
  })

  test('an IPv6 chain may have ports, brackets, mapped addresses and zones', () => {
    const headers = { 'x-forwarded-for': '[2001:DB8:0:0::66]:4711, ::ffff:a01:1, fe80::1%eth0' }
    const ips = [1, 2, 3].map((trustProxy) => requestScope(node(headers, '::1'), { trustProxy }).context.ip)

    expect(ips).toEqual(['fe80::1', '10.1.0.1', '2001:db8::66'])
  })

  test.each([
    'unknown',
    '_hidden',
    '',
    '999.1.1.1',
    '192.0.2.1.',
    '<script>',
    '10.0.0.1;drop',
    '::g',
    '1'.repeat(500),
  ])('%j, which is not an address, is left out and ends the chain', (garbage) => {
    const headers = { 'x-forwarded-for': `192.0.2.1, ${garbage}` }

    expect(requestScope(node(headers), { trustProxy: 1 }).context.ip).toBeUndefined()
  })

  test.each<unknown>([true, -1, 1.5, Number.NaN, 'loopback', ['10.0.0.0/8'], {}])(
    'trustProxy: %j throws an error that lists the valid values',
    (trustProxy) => {
      expect(() => requestScope(node({}), { trustProxy } as never)).toThrow(
        /^requestScope: trustProxy: expected .* got /,
      )
    },
  )

  test.each([
    [{ trustproxy: 1 }, "requestScope: there is no option 'trustproxy'; the options are trustProxy, ip"],
    [[1], 'requestScope: options: expected an object, got an array'],
    [null, 'requestScope: options: expected an object, got null'],
  ])('options %j throw an error that says why', (options, text) => {
    expect(() => requestScope(node({}), options as never)).toThrow(new TypeError(text))
  })
})

describe('a Fetch request', () => {
  const request = (headers: Record<string, string> = {}) =>
    new Request('https://shop.example/a?b#c', { headers })

  test('has no address, unless the option ip supplies one', () => {
    expect(requestScope(request()).context).toEqual({})
    expect(requestScope(request(), { ip: '2001:DB8::7' }).context).toEqual({ ip: '2001:db8::7' })
  })

  test('gets, behind one proxy, its address from the proxy', () => {
    const headers = {
      'x-forwarded-for': '203.0.113.66, 198.51.100.9',
      'user-agent': 'curl/8',
      'accept-language': 'en',
    }

    expect(requestScope(request(headers), { trustProxy: 1 }).context).toEqual({
      ip: '198.51.100.9',
      userAgent: 'curl/8',
      locale: 'en',
    })
  })
})

describe('hostile requests', () => {
  const hostile = {
    'no headers': {},
    'headers null': { headers: null },
    'no object': 7,
    undefined: undefined,
    'throwing getters': new Proxy(
      {},
      {
        get: () => {
          throw new Error('non')
        },
      },
    ),
    'headers that throw': {
      headers: {
        get: () => {
          throw new Error('non')
        },
      },
    },
    'headers of other types': { headers: { 'user-agent': {}, 'accept-language': 1n }, socket: 'x' },
    'a socket that throws': {
      headers: {},
      get socket() {
        throw new Error('non')
      },
    },
    'a language that is none': { headers: { 'accept-language': ';;q=,' } },
  }

  test.each(Object.entries(hostile))('%s: no error and no values', (_what, request) => {
    expect(requestScope(request as never, { trustProxy: 3 })).toEqual({ context: {} })
  })

  test('long headers are cut, and the last entry of X-Forwarded-For counts', async () => {
    const filler = '203.0.113.66, '.repeat(5_000)
    const bytes = get(
      `User-Agent: ${'u'.repeat(60_000)}`,
      `Accept-Language: ${'de,'.repeat(9_000)}`,
      `X-Forwarded-For: ${filler}198.51.100.9`,
    )
    const { context } = await receive(bytes, (request) => requestScope(request, { trustProxy: 1 }))

    expect(context.ip).toBe('198.51.100.9')
    expect(context.userAgent).toHaveLength(1_024)
    expect(context.locale).toBe('de')
  })

  test.each([
    ['a chain of commas', { 'x-forwarded-for': ','.repeat(1_000_000) }],
    ['white space', { 'accept-language': ' '.repeat(1_000_000), 'x-forwarded-for': ' '.repeat(1_000_000) }],
    ['a language without an end', { 'accept-language': 'a-'.repeat(500_000) }],
  ])('S22: %s takes no longer than reading it a few times', (_what, headers) => {
    const cpuOf = (work: () => void): number => {
      const before = process.cpuUsage()
      for (let round = 0; round < 5; round++) work()
      return process.cpuUsage(before).user
    }
    const text = Object.values(headers).join('')
    const scan = cpuOf(() => {
      // Reads each character 20 times.
      for (let pass = 0; pass < 20; pass++) for (let at = 0; at < text.length; at++) text.charCodeAt(at)
    })

    // Quadratic work would take some 50,000 times as long as the scan.
    expect(cpuOf(() => requestScope(node(headers), { trustProxy: 100 }))).toBeLessThan(scan + 100_000)
  })
})

describe('the language', () => {
  test.each([
    ['en-US,en;q=0.5', 'en-US'],
    ['da, en-gb;q=0.8, en;q=0.7', 'da'],
    ['de;q=0.3,fr;q=0.9', 'fr'],
    ['*', undefined],
    ['*;q=1, it;q=0.2', 'it'],
    ['fr;q=0', undefined],
    ['zh-Hans-CN', 'zh-Hans-CN'],
    ['x;y=1, <b>, de_CH, nl', 'nl'],
    ['', undefined],
  ])('%j is %s', (header, locale) => {
    expect(requestScope(node({ 'accept-language': header })).context.locale).toBe(locale)
  })
})
