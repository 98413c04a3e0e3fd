import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { type ApiParts, handleApi } from '../../src/api/api.ts'
import { type HttpProblem, replyProblem } from '../../src/http/reply.ts'
import type { EventReader } from '../../src/store/event-reader.ts'
import { openCollector, post, track } from '../support.ts'

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
    stream: { process: 'p', storeUnavailable: () => null },
    actions: {},
    stats: () => ({}),
    now: Date.now,
  } as unknown as ApiParts
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost')
    handleApi(parts, url, request, response).catch((cause: HttpProblem) => {
      if (!response.destroyed) replyProblem(response, cause)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return (path: string, signal?: AbortSignal) =>
    fetch(`http://127.0.0.1:${port}${path}`, signal === undefined ? {} : { signal })
}

test.each(['/api/count', '/api/events?view=summary', '/api/catalogue', '/api/export', '/api/users/ada'])(
  'a query of %s is cancelled when its client hangs up, and another query can take its place',
  async (path) => {
    const signals: Array<AbortSignal | undefined> = []
    const ask = await openApi((_name, _parameters, signal) => {
      signals.push(signal)
      return new Promise((_, reject) =>
        signal?.addEventListener('abort', () => reject(signal.reason as Error)),
      )
    })
    const leave = new AbortController()
    const places = path === '/api/export' ? 10 : 200
    const asked = Array.from({ length: places }, () => ask(path, leave.signal).catch(() => {}))
    await expect.poll(() => signals.length).toBe(places)
    expect((await ask(path)).status).toBe(503)

    leave.abort()

    await Promise.all(asked)
    await expect.poll(() => signals.every((signal) => signal?.aborted)).toBe(true)
    const again = new AbortController()
    onTestFinished(() => again.abort())
    void ask(path, again.signal).catch(() => {})
    await expect.poll(() => signals.length).toBe(places + 1)
  },
)

test('at most four pages of whole events are read at a time, and a client that hangs up makes room for the next', async () => {
  const asked: AbortSignal[] = []
  const ask = await openApi((_name, _parameters, signal) => {
    if (signal?.aborted) return Promise.reject(signal.reason)
    asked.push(signal as AbortSignal)
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  })
  const leave = new AbortController()
  onTestFinished(() => leave.abort())
  const first = new AbortController()
  void ask('/api/events', first.signal).catch(() => {})
  await expect.poll(() => asked.length).toBe(1)
  for (let open = 0; open < 9; open++) void ask('/api/events', leave.signal).catch(() => {})
  await expect.poll(() => asked.length).toBe(4)
  // When this request gets its response, the requests before it have arrived.
  expect((await ask('/api/stats')).status).toBe(200)
  expect(asked).toHaveLength(4)

  first.abort()

  await expect.poll(() => asked.length).toBe(5)
})

test('at most 200 queries wait at a time; one more gets 503, but /api/stats still responds', async () => {
  const answers: Array<(value: unknown) => void> = []
  const ask = await openApi(() => new Promise((answer) => answers.push(answer)))

  const asked = Array.from({ length: 200 }, (_, index) => ask(index % 2 ? '/api/count' : '/api/events/17'))
  await expect.poll(() => answers.length).toBe(200)
  const refused = await ask('/api/count')
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(await refused.json()).toMatchObject({ code: 'too_many_questions' })
  expect((await ask('/api/stats')).status).toBe(200)

  for (const answer of answers) answer({ count: 1, isComplete: true })
  expect((await Promise.all(asked)).every(({ status }) => status === 200)).toBe(true)
  answers.length = 0
  const again = ask('/api/count')
  await expect.poll(() => answers.length).toBe(1)
  answers[0]?.({ count: 2, isComplete: true })
  expect(await (await again).json()).toEqual({ count: 2, isComplete: true })
})
