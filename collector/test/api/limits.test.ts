import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { type ApiParts, handleApi } from '../../src/api/api.ts'
import { type HttpProblem, replyProblem } from '../../src/http/reply.ts'
import { openCollector, post, track } from '../support.ts'

test('a hundred waits are open at a time; one more is told what to do, and has its turn when one ends', async () => {
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
  // Those of the process itself are its own.
  const waiting = collector.waitFor({ event: 'A' })
  await post(collector, '/v1/track', track({ event: 'A' }))
  expect(await waiting).toHaveLength(1)
  leave.abort()
  await expect.poll(async () => (await oneMore()).status).toBe(408)
})

test('two hundred questions wait at a time; one more gets 503, the statistics are told all the same', async () => {
  const answers: Array<(value: unknown) => void> = []
  const parts = {
    reader: { ask: () => new Promise((answer) => answers.push(answer)) },
    tail: { news: () => ({}) },
    stream: { process: 'p', storeAway: () => null },
    actions: {},
    stats: () => ({}),
    now: Date.now,
  } as unknown as ApiParts
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost')
    handleApi(parts, url, request, response).catch((cause: HttpProblem) => replyProblem(response, cause))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)

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
