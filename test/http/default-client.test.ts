import http from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { Agent, type Dispatcher, MockAgent, ProxyAgent } from 'undici'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Analytics } from '../../src/analytics.ts'
import type { HTTPClientRequest } from '../../src/http/client.ts'
import { defaultClient } from '../../src/http/default-client.node.ts'
import { NodeHTTPClient } from '../../src/http/node-client.ts'
import { type Loopback, listen } from '../support/loopback.ts'

// The transport of a process that has never used fetch is checked in test/runtimes/transport.test.ts.

const open: (() => unknown)[] = []

afterEach(async () => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  await Promise.all(open.splice(0).map((close) => close()))
})

function request(url: string): HTTPClientRequest {
  return { url, method: 'POST', headers: {}, body: '{}', httpRequestTimeout: 10_000 }
}

/** Sets a dispatcher of the process until the end of the test. */
function dispatchOver(dispatcher: object, key = 'undici.globalDispatcher.1'): void {
  const globals = globalThis as unknown as Record<symbol, object | undefined>
  const former = globals[Symbol.for(key)]
  globals[Symbol.for(key)] = dispatcher
  open.push(() => {
    globals[Symbol.for(key)] = former
  })
}

/** Adds an interceptor that fails every request. */
function dispatched(dispatcher: Dispatcher): Dispatcher {
  return dispatcher.compose(() => (_options, handler) => {
    handler.onError?.(new Error('the interceptor was used'))
    return true
  })
}

describe('a process that has set a dispatcher for fetch', () => {
  test('MockAgent: the request is mocked, and its body is text', async () => {
    const agent = new MockAgent()
    agent.disableNetConnect()
    const body = (text: unknown): boolean => text === '{}'
    agent
      .get('http://tracking.invalid')
      .intercept({ path: '/v1/batch', method: 'POST', body })
      .reply(202, '{"success":true}')
    dispatchOver(agent)

    const response = await defaultClient().makeRequest(request('http://tracking.invalid/v1/batch'))

    expect(response.status).toBe(202)
    expect(await response.text?.()).toBe('{"success":true}')
  })

  test('ProxyAgent: the request goes through the proxy', async () => {
    const asked: (string | undefined)[] = []
    const proxy = await listen(() => {})
    proxy.server.on('connect', ({ url }, socket) => {
      asked.push(url)
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    })
    open.push(() => proxy.close())
    dispatchOver(new ProxyAgent(proxy.url))

    await expect(defaultClient().makeRequest(request('http://tracking.invalid/v1/batch'))).rejects.toThrow()

    expect(asked).toEqual(['tracking.invalid:80'])
  })

  test.each([
    ['an agent with interceptors', () => dispatchOver(dispatched(new Agent()))],
    [
      'an agent with interceptors, of undici 8',
      () => {
        class Dispatcher1Wrapper {}
        dispatchOver(new Dispatcher1Wrapper())
        dispatchOver(dispatched(new Agent()), 'undici.globalDispatcher.2')
      },
    ],
    ['an object of no known class', () => dispatchOver(Object.create(null))],
  ])('%s: fetch is called', async (_label, set) => {
    const { url, requests } = await serve()
    const node = vi.spyOn(http, 'request')
    set()

    await expect(defaultClient().makeRequest(request(url))).rejects.toThrow('fetch failed')

    expect(node).not.toHaveBeenCalled()
    expect(requests).toEqual([])
  })

  test('a plain Agent: the request goes over node:http, as without one', async () => {
    const { url } = await serve()
    const node = vi.spyOn(http, 'request')
    dispatchOver(new Agent({ connect: { timeout: 1 } }))

    const response = await defaultClient().makeRequest(request(url))

    expect(response.status).toBe(200)
    expect(node).toHaveBeenCalledTimes(1)
  })

  test('a dispatcher that is set later applies from the next request on', async () => {
    const { url } = await serve()
    const client = defaultClient()

    const first = await client.makeRequest(request(url))
    dispatchOver(dispatched(new Agent()))
    const second = client.makeRequest(request(url))

    expect(first.status).toBe(200)
    await expect(second).rejects.toThrow('fetch failed')
  })
})

describe('a process that has replaced fetch', () => {
  test('the replacement is called, and node:http again when fetch was restored', async () => {
    const { url } = await serve()
    const client = defaultClient()
    vi.stubGlobal('fetch', async () => ({ status: 299, statusText: 'Replaced' }))

    const replaced = await client.makeRequest(request(url))
    vi.unstubAllGlobals()
    const restored = await client.makeRequest(request(url))

    expect([replaced.status, restored.status]).toEqual([299, 200])
  })

  test('a replacement that was there before the package was loaded is called', async () => {
    vi.stubGlobal('fetch', async () => ({ status: 299, statusText: 'Replaced' }))
    vi.resetModules()
    const loaded = await import('../../src/http/default-client.node.ts')

    const response = await loaded.defaultClient().makeRequest(request('http://127.0.0.1:9/'))

    expect(response.status).toBe(299)
  })

  test('a fetch that was removed is not missed, whatever the dispatcher', async () => {
    const { url } = await serve()
    dispatchOver(dispatched(new Agent()))
    vi.stubGlobal('fetch', undefined)

    expect((await defaultClient().makeRequest(request(url))).status).toBe(200)
  })
})

test('F21: a 100 Continue that was not asked for does not count as the response', async () => {
  const server: Server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      if (!String(chunk).endsWith('{}')) return
      socket.end('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(() => server.close())
  const address = server.address() as AddressInfo

  const response = await defaultClient().makeRequest(request(`http://127.0.0.1:${address.port}/v1/batch`))

  expect(response.status).toBe(200)
  expect(await response.text?.()).toBe('{}')
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

async function serve(): Promise<Loopback & { requests: string[] }> {
  const requests: string[] = []
  const server = await listen((request, response) => {
    requests.push(String(request.url))
    request.resume().on('end', () => response.end('{}'))
  })
  open.push(() => server.close())
  return Object.assign(server, { requests })
}

test('a client that is closed while it is idle leaves no connection open', async () => {
  const { url } = await serve()
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
  const abortion = new AbortController()

  const response = client.makeRequest({ ...request('http://127.0.0.1:9/'), signal: abortion.signal })
  abortion.abort(new Error('the client was closed'))

  await expect(response).rejects.toThrow('aborted')
})
