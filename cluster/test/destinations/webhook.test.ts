import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { Webhook } from '../../src/destinations/webhook.ts'
import { keyOf } from '../../src/stream/message.ts'
import { newEvent } from '../support/events.ts'

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void

async function open(handle: Handler, headers: Record<string, string> = {}) {
  const server = createServer(async (request, response) => handle(request, response, await text(request)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const webhook = new Webhook(
    new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?a=1`),
    headers,
  )
  onTestFinished(async () => {
    await webhook.close()
    server.closeAllConnections()
    server.close()
  })
  return { webhook, server }
}

const events = (count: number) => Array.from({ length: count }, (_, index) => newEvent(`id-${index}`))

test('each message is posted by itself, with the key that every attempt has', async () => {
  const seen: Array<{ url: unknown; method: unknown; body: string; headers: IncomingMessage['headers'] }> = []
  const { webhook } = await open(
    ({ url, method, headers }, response, body) => {
      seen.push({ url, method, body, headers })
      response.writeHead(204).end()
    },
    { authorization: 'Bearer secret' },
  )
  const batch = events(3)

  expect(await webhook.write(batch)).toEqual(Array(3).fill({ result: 'written' }))

  expect(seen).toHaveLength(3)
  for (const event of batch) {
    const one = seen.find(({ body }) => body === event.body)
    expect(one).toMatchObject({ url: '/hook?a=1', method: 'POST' })
    expect(one?.headers).toMatchObject({
      authorization: 'Bearer secret',
      'content-type': 'application/json',
      'idempotency-key': keyOf(event),
    })
  }
})

test.each([
  [200, 'written'],
  [201, 'written'],
  [301, 'failed'],
  [400, 'refused'],
  [401, 'failed'],
  [403, 'failed'],
  [404, 'failed'],
  [410, 'refused'],
  [413, 'refused'],
  [422, 'refused'],
  [429, 'failed'],
  [500, 'failed'],
  [503, 'failed'],
])('after status %d, an event is %s', async (status, result) => {
  const { webhook } = await open((_request, response, body) => {
    response.writeHead(body.includes('"id-0"') ? status : 200).end()
  })

  const [outcome, other] = await webhook.write(events(2))

  expect(outcome?.result).toBe(result)
  expect(other?.result).toBe('written')
})

test('when nothing is taken, the batch fails after a few requests', async () => {
  let requests = 0
  const { webhook } = await open((_request, response) => {
    requests++
    response.writeHead(503).end()
  })

  await expect(webhook.write(events(500))).rejects.toThrow('answered 503')

  // Those that were in flight together, and no more.
  expect(requests).toBeLessThan(50)
})

test('a connection that ends without a response is a failure, and names no data', async () => {
  const { webhook } = await open((request, response, body) => {
    if (body.includes('"id-0"')) request.socket.destroy()
    else response.end()
  })

  expect((await webhook.write(events(2)))[0]).toEqual({ result: 'failed', reason: 'ECONNRESET' })
})
