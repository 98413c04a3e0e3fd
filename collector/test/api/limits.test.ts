import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { type ApiParts, handleApi } from '../../src/api/api.ts'
import { ClientTurns } from '../../src/api/client-turns.ts'
import { type HttpProblem, replyProblem } from '../../src/http/reply.ts'
import type { EventReader } from '../../src/store/event-reader.ts'
import { fakeClock, openCollector, post, serve, track } from '../support.ts'

test('100 requests to /api/wait can be open at a time; one more gets 503 with advice until some of them end', async () => {
  const collector = await openCollector()
  const url = `${collector.url}/api/wait?event=never`
  const leave = new AbortController()
  for (let open = 0; open < 100; open++) {
    fetch(`${url}&timeout=60000`, { signal: leave.signal }).catch(() => {})
  }
  const oneMore = () => fetch(`${url}&timeout=1`)
  await expect.poll(async () => (await oneMore()).status).toBe(503)

  const refused = await oneMore()
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(await refused.json()).toMatchObject({
    code: 'too_many_waits',
    message: expect.stringContaining('end some'),
  })
  // The limit applies to requests, not to `waitFor` in the same process.
  const waiting = collector.waitFor({ event: 'A' })
  await post(collector, '/v1/track', track({ event: 'A' }))
  expect(await waiting).toHaveLength(1)
  leave.abort()
  await expect.poll(async () => (await oneMore()).status).toBe(408)
})

test.each(['', '/retry', '/discard'])(
  '/api/dead-letters%s gets 404 with an explanation if the collector has no log',
  async (path) => {
    const collector = await openCollector()
    const response = await fetch(`${collector.url}/api/dead-letters${path}`, {
      method: path ? 'POST' : 'GET',
    })

    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({
      code: 'no_log',
      message: expect.stringContaining('started without --log'),
    })
  },
)

async function openApi(ask: (...given: Parameters<EventReader['ask']>) => Promise<unknown>) {
  const parts = {
    reader: { ask },
    changes: { state: () => ({}) },
    stream: { process: 'p', storeUnavailable: () => null, faults: () => [] },
    actions: {},
    turns: new ClientTurns(),
    stats: () => ({}),
    now: Date.now,
  } as unknown as ApiParts
  let requests = 0
  const address = await serve((request, response) => {
    requests++
    const url = new URL(request.url ?? '', 'http://localhost')
    const [agent, from = '192.0.2.1'] = String(request.headers['user-agent']).split('@')
    request.headers['user-agent'] = agent
    handleApi(parts, { address: from, isReader: false }, url, request, response).catch(
      (cause: HttpProblem) => {
        if (!response.destroyed) replyProblem(response, cause)
      },
    )
  })
  const askOne = (path: string, signal?: AbortSignal, agent = 'script') =>
    fetch(`${address}${path}`, {
      headers: { 'user-agent': agent },
      ...(signal === undefined ? {} : { signal }),
    })
  return Object.assign(askOne, { arrivedCount: () => requests })
}

/** Resolves when the requests so far have arrived. */
async function arrived(ask: Awaited<ReturnType<typeof openApi>>): Promise<void> {
  expect((await ask('/api/stats')).status).toBe(200)
}

test.each([
  ['/api/count', 4],
  ['/api/events?view=summary', 4],
  ['/api/events', 4],
  ['/api/catalogue', 4],
  ['/api/users/ada', 4],
  ['/api/export', 10],
])(
  'at most some queries of %s run at a time: %i; one whose client hangs up makes room',
  async (path, places) => {
    const asked: AbortSignal[] = []
    const ask = await openApi((_name, _parameters, signal) => {
      asked.push(signal as AbortSignal)
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    })
    const leave = new AbortController()
    onTestFinished(() => leave.abort())
    const first = new AbortController()
    const leaving = ask(path, first.signal).catch(() => {})
    await expect.poll(() => asked.length).toBe(1)
    for (let open = 1; open < places; open++) void ask(path, leave.signal).catch(() => {})
    await expect.poll(() => asked.length).toBe(places)
    const oneMore = path === '/api/export' ? undefined : ask(path, leave.signal).catch(() => {})
    await arrived(ask)
    expect(asked).toHaveLength(places)

    first.abort()

    await leaving
    await expect.poll(() => asked[0]?.aborted).toBe(true)
    void (oneMore ?? ask(path, leave.signal).catch(() => {}))
    await expect.poll(() => asked.length).toBe(places + 1)
  },
)

test('the clients take turns: a query of the page waits for one query of a script, not for all that came before', async () => {
  const asked: Array<{ q: unknown; answer(value: unknown): void }> = []
  const ask = await openApi((_name, parameters) => {
    const { q } = parameters as { q: unknown }
    return new Promise((answer) => asked.push({ q, answer }))
  })
  const all = Array.from({ length: 50 }, () => ask('/api/users?q=script'))
  await expect.poll(() => asked.length).toBe(4)
  await arrived(ask)
  all.push(ask('/api/users?q=page', undefined, 'browser'))
  await arrived(ask)

  for (let answered = 0; answered < 2; answered++) asked[answered]?.answer({})
  await expect.poll(() => asked.length).toBe(6)
  for (const { answer } of asked) answer({})

  expect(asked.map(({ q }) => q)).toEqual([...Array(5).fill('script'), 'page'])
  for (let answered = 6; answered < all.length; answered++) {
    await expect.poll(() => asked.length).toBeGreaterThan(answered)
    asked[answered]?.answer({})
  }
  expect((await Promise.all(all)).every(({ status }) => status === 200)).toBe(true)
})

test('an address has its turn once, under however many names its clients ask', async () => {
  const asked: Array<{ q: unknown; answer(value: unknown): void }> = []
  const ask = await openApi((_name, parameters) => {
    const { q } = parameters as { q: unknown }
    return new Promise((answer) => asked.push({ q, answer }))
  })
  const all = Array.from({ length: 50 }, (_, name) => ask('/api/users?q=many', undefined, `${name}`))
  await expect.poll(() => asked.length).toBe(4)
  await arrived(ask)
  all.push(ask('/api/users?q=other', undefined, 'script@192.0.2.2'))
  await arrived(ask)

  for (let answered = 0; answered < 2; answered++) asked[answered]?.answer({})
  await expect.poll(() => asked.length).toBe(6)

  expect(asked.map(({ q }) => q)).toEqual([...Array(5).fill('many'), 'other'])
  for (let answered = 2; answered < all.length; answered++) {
    await expect.poll(() => asked.length).toBeGreaterThan(answered)
    asked[answered]?.answer({})
  }
  expect((await Promise.all(all)).every(({ status }) => status === 200)).toBe(true)
})

test('100 queries of a client, 150 of an address and 200 in all wait; one more gets 503, but /api/stats still responds', async () => {
  const answers: Array<(value: unknown) => void> = []
  let isOpen = false
  const ask = await openApi(() => {
    if (isOpen) return Promise.resolve({ count: 1, isComplete: true })
    return new Promise((answer) => answers.push(answer))
  })
  const asked: Array<Promise<Response>> = []
  const askFrom = async (agent: string, count: number) => {
    const before = ask.arrivedCount()
    for (let left = count; left > 0; left--) asked.push(ask('/api/count', undefined, agent))
    await expect.poll(ask.arrivedCount).toBe(before + count)
  }
  const refused = async (agent: string) => {
    const response = await ask('/api/count', undefined, agent)
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    return response.json()
  }

  await askFrom('one', 100)
  expect(await refused('one')).toMatchObject({
    code: 'too_many_questions',
    message: expect.stringMatching(/^100/),
  })
  await askFrom('other', 50)
  expect(await refused('third')).toMatchObject({ message: expect.stringMatching(/^150/) })
  await askFrom('one@192.0.2.2', 50)
  expect(await refused('one@192.0.2.3')).toMatchObject({ message: expect.stringMatching(/^200/) })
  expect((await ask('/api/stats')).status).toBe(200)

  isOpen = true
  for (const answer of answers) answer({ count: 1, isComplete: true })
  expect((await Promise.all(asked)).every(({ status }) => status === 200)).toBe(true)
  expect(await (await ask('/api/count')).json()).toEqual({ count: 1, isComplete: true })
})

test('F157: answers that their clients do not read take little memory, for at most a minute', async () => {
  const clock = fakeClock()
  const collector = await openCollector({ clock })
  const batch = Array.from({ length: 15 }, () => track({ properties: { pad: 'x'.repeat(30_000) } }))
  for (let sent = 0; sent < 4; sent++) await post(collector, '/v1/batch', { batch })
  const status = async () => {
    const response = await fetch(`${collector.url}/api/events?limit=1000`)
    await response.arrayBuffer()
    return response.status
  }
  const sockets = Array.from({ length: 4 }, () => connect(collector.port, '127.0.0.1').on('error', () => {}))
  const isClosed = Promise.race(sockets.map((socket) => once(socket, 'close')))

  for (const socket of sockets)
    socket.write('GET /api/events?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(15))
  await expect.poll(status).toBe(503)
  expect((await fetch(`${collector.url}/api/stats`)).status).toBe(200)
  clock.advance(60_000)

  for (const socket of sockets) socket.resume()
  await isClosed
  await expect.poll(status).toBe(200)
})
