import { rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { newDatabaseFile } from './support/process.ts'
import { basic, exchange, openCollector, post, track } from './support.ts'

const HEAD = 'Host: localhost\r\nContent-Type: application/json\r\n'
const KEY = `Authorization: ${basic('shop')}\r\n`

function padded(bytes: number, unit = 'x'): Record<string, unknown> {
  const message = track({ messageId: 'sized', properties: { pad: '' } })
  const left = bytes - Buffer.byteLength(JSON.stringify(message))
  const size = Buffer.byteLength(unit)
  return { ...message, properties: { pad: unit.repeat(Math.floor(left / size)) + 'x'.repeat(left % size) } }
}

test.each(['x', '😀'])(
  'a single event of 32,768 bytes of %s is accepted, one of 32,769 is refused',
  async (unit) => {
    const collector = await openCollector()

    const fits = await post(collector, '/v1/track', padded(32_768, unit))
    const over = await post(collector, '/v1/track', padded(32_769, unit))

    expect([fits.status, over.status]).toEqual([200, 400])
    expect(await over.json()).toMatchObject({ code: 'event_too_large' })
  },
)

test.each(['x', '😀'])(
  'F112: a batch item of 32,768 bytes of %s is accepted; with one of 32,769 the whole batch is refused',
  async (unit) => {
    const collector = await openCollector()

    const fits = await post(collector, '/v1/batch', { batch: [track(), padded(32_768, unit), track()] })
    collector.clear()
    const over = await post(collector, '/v1/batch', { batch: [track(), padded(32_769, unit), track()] })

    expect([fits.status, over.status]).toEqual([200, 400])
    expect(await over.json()).toMatchObject({ code: 'event_too_large' })
    await collector.waitFor({ status: 'rejected', count: 3 })
    const reasons = collector.events().map(({ reason }) => reason)
    expect(reasons).toEqual(['batch_refused', 'event_too_large', 'batch_refused'])
  },
)

test('the size of an item is that of its JSON, however the client has escaped it', async () => {
  const collector = await openCollector()
  const item = (escapes: number) =>
    `{ "type":"track","userId":"u","event":"x","p":"${'\\u0041'.repeat(escapes)}"}`
  // Without the space after the brace.
  const base = item(0).length - 1
  const fitting = 32_768 - base

  const fits = await post(collector, '/v1/batch', `{"batch":[ ${item(fitting)} ]}`)
  const over = await post(collector, '/v1/batch', `{"b\\u0061tch":[\n${item(fitting + 1)}]}`)

  expect([fits.status, over.status]).toEqual([200, 400])
})

function batchOf(bytes: number): string {
  const items = Array.from({ length: 15 }, () => JSON.stringify(padded(32_000)))
  const text = `{"batch":[${items.join(',')}]}`
  const blanks = ' '.repeat(bytes - Buffer.byteLength(text))
  return `${text.slice(0, -1)}${blanks}}`
}

test('a batch of 512,000 bytes is accepted, one of 512,001 is refused, with or without a Content-Length', async () => {
  const collector = await openCollector()
  const chunked = (text: string) =>
    fetch(`${collector.url}/v1/batch`, {
      method: 'POST',
      body: new Blob([text]).stream(),
      duplex: 'half',
      headers: { 'content-type': 'application/json', authorization: basic('shop') },
    } as RequestInit)

  const answers = [
    await post(collector, '/v1/batch', batchOf(512_000)),
    await post(collector, '/v1/batch', batchOf(512_001)),
    await chunked(batchOf(512_000)),
    await chunked(batchOf(512_001)),
  ]

  expect(answers.map(({ status }) => status)).toEqual([200, 400, 200, 400])
  expect(await answers[3]?.json()).toMatchObject({ code: 'body_too_large' })
})

test('F111: an endless body is refused at the limit, and hardly more is read', async () => {
  const collector = await openCollector()
  const chunk = Buffer.alloc(65_536, 0x20)
  let written = 0

  const answer = await new Promise<string>((resolve) => {
    let text = ''
    const socket = connect(collector.port, '127.0.0.1')
    socket.write(`POST /v1/batch HTTP/1.1\r\n${HEAD}${KEY}Transfer-Encoding: chunked\r\n\r\n`)
    const pump = () => {
      while (!socket.destroyed && written < 200_000_000) {
        written += chunk.length
        if (!socket.write(Buffer.concat([Buffer.from('10000\r\n'), chunk, Buffer.from('\r\n')]))) return
      }
    }
    socket.on('drain', pump).on('error', () => {})
    socket.on('data', (data) => {
      text += data
    })
    socket.on('close', () => resolve(text))
    pump()
  })

  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(answer).toContain('body_too_large')
  // The number includes the bytes in the buffers of both ends of the connection.
  expect(written).toBeLessThan(20_000_000)
})

test('F111: a gzip bomb of 1000:1, broken gzip and other encodings are refused', async () => {
  const collector = await openCollector()
  const bomb = gzipSync(Buffer.alloc(100_000_000, 0x20))
  const before = process.memoryUsage().rss

  const answers = [
    await post(collector, '/v1/batch', bomb, { 'content-encoding': 'gzip' }),
    await post(collector, '/v1/batch', Buffer.from('not gzip'), { 'content-encoding': 'gzip' }),
    await post(collector, '/v1/batch', bomb.subarray(0, 500), { 'content-encoding': 'gzip' }),
    await post(collector, '/v1/batch', bomb, { 'content-encoding': 'br' }),
  ]

  expect(bomb.length).toBeLessThan(500_000)
  expect(
    await Promise.all(
      answers.map(async (answer) => [answer.status, ((await answer.json()) as { code: string }).code]),
    ),
  ).toEqual([
    [400, 'body_too_large'],
    [400, 'bad_encoding'],
    [400, 'bad_encoding'],
    [400, 'bad_encoding'],
  ])
  expect(process.memoryUsage().rss - before).toBeLessThan(32_000_000)
})

const nested = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`
const unreadable: Array<[what: string, code: string, body: string | Uint8Array]> = [
  ['no content', 'invalid_json', ''],
  ['plain text', 'invalid_json', 'hello'],
  ['a NUL at the end', 'invalid_json', '{"a":1}\0'],
  ['invalid UTF-8', 'invalid_json', Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d)],
  ['a surrogate in UTF-8', 'invalid_json', Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)],
  ['UTF-16', 'invalid_json', Buffer.from('{"a":1}', 'utf16le')],
  ['null', 'not_an_object', 'null'],
  ['a number', 'not_an_object', '1e999'],
  ['an array', 'not_an_object', '[{"type":"track"}]'],
  ['no batch', 'batch_not_an_array', '{}'],
  ['a batch that is a number after a repeated key', 'batch_not_an_array', '{"batch":[{}],"batch":1}'],
  ['65 levels', 'too_deep', nested(64)],
  ['100,000 levels', 'too_deep', nested(100_000)],
  ['100,000 unclosed levels', 'invalid_json', '[{"a":'.repeat(50_000)],
]

test.each(unreadable)('F113: a body with %s gets 400 with %s', async (_what, code, body) => {
  const collector = await openCollector()

  const response = await post(collector, '/v1/batch', body)

  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ success: false, code })
  expect(await collector.waitFor({ reason: code })).toMatchObject([{ type: 'batch', source: 'shop' }])
})

test('64 levels, repeated keys, huge numbers, lone surrogates and __proto__ are ordinary data', async () => {
  const collector = await openCollector()
  const odd = [
    `{"userId":"u","event":"deep","properties":${nested(62)}}`,
    '{"userId":"u","event":"first","event":"last"}',
    '{"userId":"u","event":"number","properties":{"n":1e999}}',
    '{"userId":"u","event":"lone \\udc00 surrogate","properties":{"s":"\\ud83d"}}',
    '{"userId":"u","event":"proto","__proto__":{"polluted":1},"properties":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}},"context":{"__proto__":{"polluted":1}}}',
  ]

  for (const body of odd) expect((await post(collector, '/v1/track', body)).status).toBe(200)

  const records = collector.events()
  expect(records.map(({ name, status }) => [name, status])).toEqual([
    ['deep', 'accepted'],
    ['last', 'accepted'],
    ['number', 'accepted'],
    ['lone \ufffd surrogate', 'accepted'],
    ['proto', 'accepted'],
  ])
  expect(records[3]?.message?.properties.s).toBe('\ud83d')
  expect(Object.getOwnPropertyDescriptor(records[4]?.message?.properties, '__proto__')?.value).toEqual({
    polluted: 1,
  })
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

test('S48, F110: slow headers get 408 at the header time limit, slow bodies at the body time limit, others get 200', async () => {
  // Each limit is far below that of the other kind of request, so only its own can have ended the request.
  const ofHeaders = await openCollector({ limits: { headersMs: 2000, requestMs: 600_000 } })
  const ofBodies = await openCollector({ limits: { headersMs: 600, requestMs: 600 } })
  const slow = ({ port }: { port: number }, start: string) =>
    new Promise<string>((resolve) => {
      let answer = ''
      let drip: NodeJS.Timeout | undefined
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(start)
        drip = setInterval(() => socket.write('x'), 50)
      })
      socket.on('data', (chunk) => {
        answer += chunk
      })
      socket.on('error', () => {})
      socket.on('close', () => {
        clearInterval(drip)
        resolve(answer)
      })
    })
  const header = 'POST /v1/track HTTP/1.1\r\nHost: localhost\r\nX-Slow: '
  const body = `POST /v1/track HTTP/1.1\r\n${HEAD}${KEY}Content-Length: 9999\r\n\r\n`

  const [answers, statuses] = await Promise.all([
    Promise.all([
      ...Array.from({ length: 100 }, () => slow(ofHeaders, header)),
      ...Array.from({ length: 100 }, () => slow(ofBodies, body)),
    ]),
    Promise.all(
      Array.from({ length: 50 }, () => post(ofHeaders, '/v1/track', track()).then(({ status }) => status)),
    ),
  ])

  expect(answers.filter((answer) => !/^HTTP\/1\.1 408 .*"timeout"/s.test(answer))).toEqual([])
  expect(statuses).toEqual(Array(50).fill(200))
})

test('F150: bodies that stop arriving cannot fill the memory: some get 503, and it is free again when they have gone', async () => {
  const collector = await openCollector()
  const part = 'x'.repeat(400_000)
  const request = `POST /v1/batch HTTP/1.1\r\n${HEAD}${KEY}Content-Length: 500000\r\n\r\n${part}`
  const slow = Array.from({ length: 200 }, () => {
    const one = { answer: '', socket: connect(collector.port, '127.0.0.1') }
    one.socket.on('error', () => {}).on('data', (chunk) => (one.answer += chunk))
    one.socket.write(request)
    return one
  })
  const busy = () =>
    slow.filter(({ answer }) => /^HTTP\/1\.1 503 .*retry-after: 1\r.*"busy"/is.test(answer)).length

  // 80 MB do not fit into 64 MiB: there is room for 167.
  await expect.poll(busy).toBeGreaterThanOrEqual(30)
  expect(busy()).toBeLessThan(60)
  for (const { socket } of slow) socket.destroy()

  await expect.poll(async () => (await post(collector, '/v1/batch', batchOf(500_000))).status).toBe(200)
})

const body = JSON.stringify(track({ messageId: 'raw' }))
const bodyBytes = Buffer.byteLength(body)
const smuggling: Array<[what: string, request: string]> = [
  ['two Content-Length headers', `Content-Length: ${bodyBytes}\r\nContent-Length: 3\r\n\r\n${body}`],
  ['a length and chunks', `Content-Length: ${bodyBytes}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['chunks and a length', `Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n`],
  ['a chunked encoding that is not the last', `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
  ['a length with a sign', `Content-Length: +5\r\n\r\n{"a":`],
  ['an invalid chunk size', `Transfer-Encoding: chunked\r\n\r\nxyz\r\n`],
  ['a line feed without a carriage return in a header', `X-A: 1\nContent-Length: 5\r\n\r\n{"a":`],
  ['a space before the colon', `Content-Length : 5\r\n\r\n{"a":`],
]

test.each(smuggling)(
  'F121: a request with %s gets 400, and its connection is closed',
  async (_what, rest) => {
    const collector = await openCollector()
    const second = `POST /v1/track HTTP/1.1\r\n${HEAD}${KEY}Content-Length: ${bodyBytes}\r\n\r\n${body}`

    const answer = await exchange(collector.port, `POST /v1/track HTTP/1.1\r\n${HEAD}${KEY}${rest}`, second)

    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1)
    expect(answer).toMatch(/nosniff/i)
    expect(collector.count({ status: 'accepted' })).toBe(0)
  },
)

test('after a request with two Host headers, nothing more of its connection is handled', async () => {
  const collector = await openCollector()
  const second = `POST /v1/track HTTP/1.1\r\n${HEAD}${KEY}Content-Length: ${bodyBytes}\r\n\r\n${body}`
  const first = `Host: 127.0.0.1\r\n${HEAD}${KEY}Content-Length: 2\r\n\r\n{}`

  const answers = [
    await exchange(collector.port, `POST /v1/track HTTP/1.1\r\n${first}${second}`),
    await exchange(collector.port, `POST /v1/track HTTP/1.1\r\n${first}`, second),
  ]

  for (const answer of answers) {
    expect(answer).toMatch(/^HTTP\/1\.1 400 .*"bad_host"/s)
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1)
  }
  expect(collector.count()).toBe(0)
})

test('S48: headers over 16 KB get 431', async () => {
  const collector = await openCollector()

  const answer = await exchange(
    collector.port,
    `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`,
  )

  expect(answer).toMatch(/^HTTP\/1\.1 431 /)
})

test('a connection that sends more than 16 requests before it gets an answer is closed, and few of them are handled', async () => {
  const collector = await openCollector()
  const one = `POST /v1/track HTTP/1.1\r\n${HEAD}${KEY}Content-Length: ${bodyBytes}\r\n\r\n${body}`
  const socket = connect(collector.port, '127.0.0.1').on('error', () => {})
  socket.write(one.repeat(10_000))

  await new Promise((resolve) => socket.resume().on('close', resolve))

  expect((await post(collector, '/v1/track', track())).status).toBe(200)
  expect(collector.count({})).toBeLessThanOrEqual(17)
})

test('Expect: 100-continue and HTTP/1.0 work', async () => {
  const collector = await openCollector()

  const expected = await exchange(
    collector.port,
    `POST /v1/track HTTP/1.1\r\n${HEAD}${KEY}Expect: 100-continue\r\nConnection: close\r\nContent-Length: ${bodyBytes}\r\n\r\n`,
    body,
  )
  const old = await exchange(
    collector.port,
    `POST /v1/track HTTP/1.0\r\n${HEAD}${KEY}Content-Length: ${bodyBytes}\r\n\r\n${body}`,
  )

  expect(expected).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/)
  expect(old).toMatch(/^HTTP\/1\.1 200 OK/)
})

test('S49: no response allows an unknown origin, every response forbids sniffing, and input is returned only as JSON', async () => {
  const collector = await openCollector()
  const attack = '/<script>alert(1)</script>?type=<script>'
  const headers = { origin: 'https://evil.example' }
  const answers = await Promise.all([
    fetch(`${collector.url}/`, { headers }),
    fetch(`${collector.url}/api/events?type=<script>`, { headers }),
    fetch(`${collector.url}${attack}`, { headers }),
    fetch(`${collector.url}/v1/track`, {
      method: 'OPTIONS',
      headers: { ...headers, 'access-control-request-method': 'POST' },
    }),
    post(collector, '/v1/track', track(), headers),
    post(collector, '/v1/track', '<script>', headers),
  ])

  for (const answer of answers) {
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  }
  expect(answers.slice(1).map((answer) => answer.headers.get('content-type'))).toEqual(
    Array(5).fill('application/json; charset=utf-8'),
  )
})

describe('a page of another site whose name resolves to this collector (DNS rebinding)', () => {
  const ask = (port: number, host: string, path = '/api/events') =>
    exchange(port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)

  test.each([
    'evil.example',
    'evil.example:8787',
    '127.evil.example',
    'localhost.evil.example',
    '10.1.2.3',
    '',
  ])('cannot read anything: %s', async (name) => {
    const { port } = await openCollector()

    expect(await ask(port, name)).toMatch(/^HTTP\/1\.1 403 /)
    expect(await ask(port, name, '/')).toMatch(/^HTTP\/1\.1 403 /)
    expect(await ask(port, name, '/v1/track')).toMatch(/^HTTP\/1\.1 403 /)
  })

  test.each([
    ...['LocalHost:8787', 'shop.localhost:8787', '127.1.2.3:8787', '[::1]:8787'],
    ...['host.docker.internal:8787', 'collector.internal', 'events.example.com'],
  ])('is not assumed if the Host of the request is a name of this machine: %s', async (name) => {
    const { port } = await openCollector({
      config: { hostNames: ['Collector.internal'], publicUrl: 'https://events.example.com' },
    })

    expect(await ask(port, name)).toMatch(/^HTTP\/1\.1 200 /)
  })
})

test.runIf(process.platform !== 'win32').each([false, true])(
  'F123: after the database file was removed, a request gets 503 with Retry-After, and /readyz says why (replaced: %s)',
  async (isReplaced) => {
    const faults: string[] = []
    const store = newDatabaseFile()
    const collector = await openCollector({ store, onFault: (what) => faults.push(what) })
    await post(collector, '/v1/track', track())

    rmSync(store)
    if (isReplaced) writeFileSync(store, '')
    const refused = await post(collector, '/v1/track', track())

    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
    expect(faults).toContain('the database cannot write')
    const ready = await fetch(`${collector.url}/readyz`)
    expect([ready.status, await ready.json()]).toEqual([
      503,
      { status: 'not_ready', reason: expect.stringContaining('removed or replaced') },
    ])
  },
)

test('S46: a public address is refused unless it is allowed', async () => {
  await expect(openCollector({ host: '0.0.0.0' })).rejects.toThrow(
    /TLS proxy in front and use --allow-public/,
  )
  await expect(openCollector({ host: '::' })).rejects.toThrow(/--allow-public/)
  await expect(openCollector({ host: '[]', allowPublic: true })).rejects.toThrow(/"" cannot be resolved/)
  const local = await openCollector()
  expect(local.url).toBe(`http://127.0.0.1:${local.port}`)
  // An IPv6 address may be in brackets, as in a URL.
  const six = await openCollector({ host: '[::1]' })
  expect(six.url).toBe(`http://[::1]:${six.port}`)
})

test('S48: connections over the limit are dropped, and existing ones continue', async () => {
  const collector = await openCollector({ limits: { maxConnections: 2 } })
  const open = () =>
    new Promise<ReturnType<typeof connect>>((resolve) => {
      const socket = connect(collector.port, '127.0.0.1', () => resolve(socket))
    })
  const held = [await open(), await open()]

  const third = await exchange(collector.port, 'GET /api/stats HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [first] = held
  const answer = new Promise<string>((resolve) => first?.once('data', (chunk) => resolve(String(chunk))))
  first?.write('GET /api/stats HTTP/1.1\r\nHost: localhost\r\n\r\n')

  expect(third).toBe('')
  expect(await answer).toMatch(/^HTTP\/1\.1 200 /)
  for (const socket of held) socket.destroy()
})
