import http from 'node:http'
import type { Socket } from 'node:net'
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

  test('a mock that was there before the package was loaded is not found: httpClient: fetch calls it', async () => {
    const { url } = await serve()
    vi.stubGlobal('fetch', async () => ({ status: 299, statusText: 'Replaced' }))
    vi.resetModules()
    const loaded = await import('../../src/http/default-client.node.ts')
    const { Analytics } = await import('../../src/analytics.ts')

    expect((await loaded.defaultClient().makeRequest(request(url))).status).toBe(200)
    const statuses: number[] = []
    const analytics = new Analytics({ writeKey: 'wk', host: url, httpClient: fetch })
    analytics.on('http_response', ({ status }) => void statuses.push(status))
    analytics.track({ userId: 'u', event: 'Commande passée' })
    await analytics.closeAndFlush()

    expect(statuses).toEqual([299])
  })

  test.each([
    ['NODE_USE_ENV_PROXY', () => vi.stubEnv('NODE_USE_ENV_PROXY', '1')],
    ['--use-env-proxy in NODE_OPTIONS', () => vi.stubEnv('NODE_OPTIONS', '--no-warnings --use-env-proxy')],
    ['--use-env-proxy', () => vi.spyOn(process, 'execArgv', 'get').mockReturnValue(['--use-env-proxy'])],
  ])('with %s, fetch is called', async (_label, set) => {
    const { url } = await serve()
    const execArgv = Object.getOwnPropertyDescriptor(process, 'execArgv') as PropertyDescriptor
    const { value } = execArgv
    Object.defineProperty(process, 'execArgv', { get: () => value, configurable: true })
    open.push(() => Object.defineProperty(process, 'execArgv', execArgv))
    set()
    const node = vi.spyOn(http, 'request')
    vi.resetModules()
    const loaded = await import('../../src/http/default-client.node.ts')

    expect((await loaded.defaultClient().makeRequest(request(url))).status).toBe(200)
    expect(node).not.toHaveBeenCalled()
    vi.unstubAllEnvs()
  })

  test('a fetch that was removed is not missed, whatever the dispatcher', async () => {
    const { url } = await serve()
    dispatchOver(dispatched(new Agent()))
    vi.stubGlobal('fetch', undefined)

    expect((await defaultClient().makeRequest(request(url))).status).toBe(200)
  })
})

describe('a process that has replaced the global agent of node:http', () => {
  const { globalAgent } = http

  function replace(agent: http.Agent): void {
    http.globalAgent = agent
    open.push(() => {
      http.globalAgent = globalAgent
    })
  }

  test.each([
    [
      'of a class of its own',
      (count: () => void) =>
        new (class Tunnel extends http.Agent {
          override createConnection(...args: unknown[]): Socket {
            count()
            return (
              http.Agent.prototype as never as Record<'createConnection', (...all: unknown[]) => Socket>
            )['createConnection'].apply(this, args)
          }
        })(),
    ],
    [
      'with further options, such as a client certificate',
      (count: () => void) =>
        new http.Agent({
          localAddress: '127.0.0.1',
          lookup: (_name, { all }, done) => {
            count()
            const address = '127.0.0.1'
            done(null, all === true ? [{ address, family: 4 }] : address, 4)
          },
        }),
    ],
  ])('requests go over it: %s', async (_label, create) => {
    const { url } = await serve()
    let used = 0
    replace(create(() => used++))
    const client = defaultClient()

    const response = await client.makeRequest(request(url.replace('127.0.0.1', 'localhost')))
    await response.text?.()
    client.close?.()

    expect(response.status).toBe(200)
    expect(used).toBe(1)
  })

  test('it is not closed with the client, and one as Node.js makes it is not used at all', async () => {
    const { url } = await serve()
    const destroyed: string[] = []
    class Tunnel extends http.Agent {
      override destroy(): void {
        destroyed.push('the agent')
        super.destroy()
      }
    }
    replace(new Tunnel())
    const client = defaultClient()
    await client.makeRequest(request(url))

    client.close?.()

    expect(destroyed).toEqual([])
    const usual = new http.Agent({ keepAlive: true, scheduling: 'lifo', timeout: 5_000 })
    replace(usual)
    const addRequest = vi.spyOn(usual as never as { addRequest(): void }, 'addRequest')
    await client.makeRequest(request(url))
    expect(addRequest).not.toHaveBeenCalled()
    client.close?.()
  })
})

describe('a connection that is refused', () => {
  const refused = (address: string, port = 9): Error =>
    Object.assign(new Error(`connect ECONNREFUSED ${address}:${port}`), {
      code: 'ECONNREFUSED',
      address,
      port,
    })

  function failWith(error: Error): void {
    vi.spyOn(http, 'request').mockImplementation(() => {
      const outgoing = new http.OutgoingMessage() as http.ClientRequest
      process.nextTick(() => outgoing.emit('error', error))
      return Object.assign(outgoing, { end: () => outgoing })
    })
  }

  test.each([
    [
      'http://localhost:9/',
      'connect ECONNREFUSED ::1:9; write 127.0.0.1 instead of localhost, which is only ::1 here',
    ],
    ['http://[::1]:9/', 'connect ECONNREFUSED ::1:9'],
  ])('by ::1 alone, at %s: %s', async (url, message) => {
    failWith(refused('::1'))

    await expect(new NodeHTTPClient().makeRequest(request(url))).rejects.toMatchObject({
      message,
      code: 'ECONNREFUSED',
    })
  })

  test('by several addresses names all of them', async () => {
    const errors = [refused('::1'), refused('127.0.0.1')]
    failWith(Object.assign(new AggregateError(errors), { code: 'ECONNREFUSED' }))

    await expect(new NodeHTTPClient().makeRequest(request('http://localhost:9/'))).rejects.toMatchObject({
      message: 'connect ECONNREFUSED ::1:9, 127.0.0.1:9',
      code: 'ECONNREFUSED',
    })
  })
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
