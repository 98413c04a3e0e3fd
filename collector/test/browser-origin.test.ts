import { expect, test } from 'vitest'
import { exchange, openCollector, post, track } from './support.ts'

const preflight = (url: string, path: string, origin: string) =>
  fetch(`${url}${path}`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type, authorization',
    },
  })

test.each([
  'http://localhost:3000',
  'https://127.0.0.1:5173',
  'http://[::1]:8080',
  'http://shop.localhost',
  'capacitor://localhost',
])('on loopback, a page of this machine (%s) may send events, and its preflight succeeds', async (origin) => {
  const collector = await openCollector()

  const asked = await preflight(collector.url, '/v1/t', origin)
  const sent = await post(collector, '/v1/t', JSON.stringify(track()), {
    origin,
    'content-type': 'text/plain',
  })

  expect(asked.status).toBe(204)
  expect(asked.headers.get('access-control-allow-methods')).toBe('POST')
  expect(asked.headers.get('access-control-allow-headers')).toBe('content-type, authorization')
  expect(sent.status).toBe(200)
  for (const { headers } of [asked, sent]) {
    expect(headers.get('access-control-allow-origin')).toBe(origin)
    expect(headers.get('vary')).toBe('Origin')
  }
  expect(collector.count({ status: 'accepted' })).toBe(1)
})

test.each(['https://evil.example', 'http://localhost.evil.example', 'null', 'http://10.0.0.7:3000'])(
  'a page of %s may not send events, and no event is stored',
  async (origin) => {
    const collector = await openCollector()

    const asked = await preflight(collector.url, '/v1/t', origin)
    const sent = await post(collector, '/v1/t', JSON.stringify(track()), {
      origin,
      'content-type': 'text/plain',
    })

    expect([asked.status, sent.status]).toEqual([403, 403])
    expect(await sent.json()).toMatchObject({ code: 'origin' })
    expect(collector.count()).toBe(0)
  },
)

test('browserOrigins allows the listed origins, and no others', async () => {
  const some = await openCollector({ config: { browserOrigins: ['https://shop.example'] } })
  const all = await openCollector({ config: { browserOrigins: ['*'] } })
  const nobody = await openCollector({ config: { browserOrigins: [] } })
  const send = async (collector: typeof some, origin: string) =>
    (await post(collector, '/v1/b', { batch: [track()] }, { origin })).status

  expect(await send(some, 'https://shop.example')).toBe(200)
  expect(await send(some, 'http://localhost:3000')).toBe(403)
  expect(await send(all, 'https://anywhere.example')).toBe(200)
  expect(await send(nobody, 'http://localhost:3000')).toBe(403)
})

test('a public collector accepts events from pages only if browserOrigins is set', async () => {
  const address = { host: '::ffff:127.0.0.1', allowPublic: true }
  const closed = await openCollector(address)
  const open = await openCollector({ ...address, config: { browserOrigins: ['http://localhost:3000'] } })
  const send = async (port: number) =>
    (await post({ url: `http://127.0.0.1:${port}` }, '/v1/t', track(), { origin: 'http://localhost:3000' }))
      .status

  expect(await send(closed.port)).toBe(403)
  expect(await send(open.port)).toBe(200)
})

test.each([
  ['/v1/t', 'track'],
  ['/v1/i', 'identify'],
  ['/v1/p', 'page'],
  ['/v1/s', 'screen'],
  ['/v1/g', 'group'],
  ['/v1/a', 'alias'],
])('%s is an alias of %s', async (path, type) => {
  const collector = await openCollector()
  const message = { userId: 'u', anonymousId: 'a', event: 'e', groupId: 'g', previousId: 'p' }

  expect((await post(collector, path, message)).status).toBe(200)

  expect(collector.events()).toMatchObject([{ type, status: 'accepted' }])
})

test('/v1/b is an alias of the batch endpoint, and metrics at /v1/m get 200 without making an event', async () => {
  const collector = await openCollector()

  const batch = await post(collector, '/v1/b', { batch: [track(), track()] })
  const metrics = await post(collector, '/v1/m', { series: [{ type: 'Counter', metric: 'x', value: 1 }] })

  expect([batch.status, metrics.status]).toEqual([200, 200])
  expect(collector.count()).toBe(2)
})

test.each(['//v1/track', '/v1/track/', '/v1//track//', '//v1//batch/?x=1', 'http://127.0.0.1/v1/track'])(
  'additional slashes and an absolute URL are accepted: POST %s',
  async (target) => {
    const collector = await openCollector()
    const message = track()
    const body = JSON.stringify(target.includes('batch') ? { batch: [message] } : message)

    const response = await exchange(
      collector.port,
      `POST ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic c2hvcDo=\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    )

    expect(response).toMatch(/^HTTP\/1\.1 200 /)
    expect(collector.count({ status: 'accepted' })).toBe(1)
  },
)

test('Origin and Host count also behind 2,000 other headers', async () => {
  const { port } = await openCollector()
  const many = 'a:\r\n'.repeat(2000)
  const ask = async (more: string) =>
    exchange(port, `GET /api/stats HTTP/1.1\r\n${many}${more}Connection: close\r\n\r\n`)

  expect(await ask('Host: localhost\r\n')).toMatch(/^HTTP\/1.1 200 /)
  expect(await ask('Host: localhost\r\nOrigin: https://other.example\r\n')).toMatch(/^HTTP\/1.1 403 /)
  expect(await ask('Host: other.example\r\n')).toMatch(/^HTTP\/1.1 403 /)
})

test.each(['cross-site', 'same-site'])(
  'the web page and /api refuse %s requests, but a link can open the web page',
  async (site) => {
    const { port } = await openCollector()
    // `fetch` would send its own `Sec-Fetch-Mode`.
    const ask = async (path: string, mode: string) => {
      const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: ${site}\r\nSec-Fetch-Mode: ${mode}`
      return Number((await exchange(port, `${head}\r\nConnection: close\r\n\r\n`)).split(' ')[1])
    }

    expect(await ask('/api/events?text=zz', 'no-cors')).toBe(403)
    expect(await ask('/api/stream', 'cors')).toBe(403)
    expect(await ask('/', 'no-cors')).toBe(403)
    // A link from another site opens the page, but not the data.
    expect(await ask('/', 'navigate')).toBe(200)
    expect(await ask('/api/events', 'navigate')).toBe(403)
  },
)

test('without Sec-Fetch-Site, the Origin decides whether /api responds', async () => {
  const collector = await openCollector()
  const remove = async (origin: string) =>
    (await fetch(`${collector.url}/api/events`, { method: 'DELETE', headers: { origin } })).status

  expect(await remove('http://localhost:3000')).toBe(403)
  expect(await remove(collector.url)).toBe(200)
})
