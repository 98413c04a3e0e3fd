import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { NodeHTTPClient } from '../../src/http/node-client.ts'
import { listen } from '../support/loopback.ts'

test('reading a body after its connection broke throws, and does not hang', async () => {
  let isClosed: Promise<unknown> | undefined
  const breaking = await listen((request, response) => {
    isClosed = once(request.socket, 'close')
    request.resume().on('end', () => {
      response.writeHead(200, { 'Content-Length': 100 })
      response.write('{', () => request.socket.destroy())
    })
  })
  const body = '{"batch":[]}'
  const headers = {}
  const response = await new NodeHTTPClient().makeRequest({
    ...{ url: breaking.url, method: 'POST', headers, body, httpRequestTimeout: 10_000 },
  })

  await isClosed
  for (let turn = 0; turn < 100; turn++) await new Promise((done) => setImmediate(done))
  const reading = response.text?.()

  await expect(reading).rejects.toThrow()
  await breaking.close()
})

test('a connection that is idle is closed by the client', async () => {
  const server = createServer((request, response) => request.resume().on('end', () => response.end()))
  // The server itself would never close it.
  server.keepAliveTimeout = 0
  const closed = new Promise((resolve) => server.on('connection', (socket) => socket.on('close', resolve)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/batch`
  const request = { url, method: 'POST', headers: {}, body: '{}', httpRequestTimeout: 10_000 } as const

  const { text } = await new NodeHTTPClient().makeRequest(request)
  await text?.()

  await closed
  server.close()
}, 20_000)
