import http from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { Analytics } from '../../src/analytics.ts'
import type { HTTPClientRequest } from '../../src/http/client.ts'
import { defaultClient } from '../../src/http/default-client.node.ts'
import type { Dispatcher } from '../../src/http/dispatcher.ts'
import { createAbort } from '../../src/http/exchange.ts'
import { NodeHTTPClient } from '../../src/http/node-client.ts'
import { type Loopback, listen } from '../support/loopback.ts'

// The transport of a process that has never used fetch is checked in test/runtimes/transport.test.ts.

const DISPATCHER = Symbol.for('undici.globalDispatcher.1')
const globals = globalThis as unknown as { [DISPATCHER]: Dispatcher | undefined }
const open: (() => unknown)[] = []

afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(open.splice(0).map((close) => close()))
})

function request(url: string): HTTPClientRequest {
  return { url, method: 'POST', headers: {}, body: '{}', httpRequestTimeout: 10_000 }
}

/** A service that sends `100 Continue` although the client has not asked for it, and then its response. */
async function serveContinue(): Promise<string> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    socket.on('data', (chunk) => {
      if (!String(chunk).endsWith('{}')) return
      socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/v1/batch`
}

test('F21: when fetch cannot read an unexpected 100 Continue, requests use node:http from then on', async () => {
  const url = await serveContinue()
  const client = defaultClient()
  // Node.js loads undici when one of its classes is first used.
  expect(typeof globalThis.Headers).toBe('function')

  await expect(client.makeRequest(request(url))).rejects.toThrow('bad response')
  const response = await client.makeRequest(request(url))

  expect(response.status).toBe(200)
  expect(await response.text?.()).toBe('{}')
})

test('a dispatcher that wraps the one of fetch is not bypassed', async () => {
  const url = await serveContinue()
  const client = defaultClient()
  const original = globals[DISPATCHER] as Dispatcher
  globals[DISPATCHER] = new Proxy(original, {
    get: (target, name) =>
      name === 'dispatch'
        ? (...args: Parameters<Dispatcher['dispatch']>) => target.dispatch(...args)
        : Reflect.get(target, name),
  })
  open.push(() => {
    globals[DISPATCHER] = original
  })

  await expect(client.makeRequest(request(url))).rejects.toThrow('bad response')
  await expect(client.makeRequest(request(url))).rejects.toThrow('bad response')
})

test('a response that switches the protocol (101) makes the request reject', async () => {
  const server = await listen(() => {})
  open.push(() => server.close())
  server.server.on('upgrade', (_request, socket) => socket.destroy())
  server.server.on('request', ({ socket }) => {
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: none\r\n\r\n')
  })

  await expect(new NodeHTTPClient().makeRequest(request(server.url))).rejects.toThrow()
})

/** Returns a function that lists the connections of node:http that are idle now or were idle at an earlier call. */
function watchConnections(): () => readonly Socket[] {
  const agents = new Set<http.Agent>()
  const original = http.request
  vi.spyOn(http, 'request').mockImplementation(((options: http.RequestOptions) => {
    agents.add(options.agent as http.Agent)
    return original(options)
  }) as typeof http.request)
  const seen = new Set<Socket>()
  return () => {
    for (const { freeSockets } of agents) {
      for (const socket of Object.values(freeSockets).flat()) if (socket !== undefined) seen.add(socket)
    }
    return [...seen]
  }
}

async function serve(): Promise<Loopback> {
  const server = await listen((request, response) => {
    request.resume().on('end', () => response.end('{}'))
  })
  open.push(() => server.close())
  return server
}

test('a client that is closed while it is idle leaves no connection open', async () => {
  const { url } = await serve()
  const original = globals[DISPATCHER]
  globals[DISPATCHER] = undefined
  open.push(() => {
    globals[DISPATCHER] = original
  })
  const connections = watchConnections()
  const analytics = new Analytics({ writeKey: 'wk', host: url })
  analytics.track({ userId: 'u', event: 'Commande passée' })
  await analytics.flush()
  // The connection is idle once the body of the response has ended, which may be after the flush has resolved.
  await vi.waitUntil(() => connections().length === 1)

  await analytics.closeAndFlush()

  expect(connections().map(({ destroyed }) => destroyed)).toEqual([true])
})

test('the connections of a shared client are closed when its owner closes them', async () => {
  const { url } = await serve()
  const connections = watchConnections()
  const httpClient = new NodeHTTPClient()
  const analytics = new Analytics({ writeKey: 'wk', host: url, httpClient })
  analytics.track({ userId: 'u', event: 'Commande passée' })
  await analytics.flush()
  await vi.waitUntil(() => connections().length === 1)
  await analytics.closeAndFlush()
  const [kept] = connections()
  expect(kept?.destroyed).toBe(false)

  httpClient.close()

  expect(kept?.destroyed).toBe(true)
  const response = await httpClient.makeRequest(request(url))
  expect(await response.text?.()).toBe('{}')
  httpClient.close()
})

test('a request that is aborted before node:http was loaded rejects', async () => {
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined)
  const client = new NodeHTTPClient()
  const abortion = createAbort(client)

  const response = client.makeRequest({ ...request('http://127.0.0.1:9/'), signal: abortion.signal })
  abortion.abort(new Error('the client was closed'))

  await expect(response).rejects.toThrow('aborted')
})
