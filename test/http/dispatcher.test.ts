import type { RequestListener } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { getGlobalDispatcher, MockAgent, setGlobalDispatcher } from 'undici'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { isConnectionLost } from '../../src/errors/cause.ts'
import type { HTTPClientRequest } from '../../src/http/client.ts'
import { defaultClient, fetchDispatcher } from '../../src/http/default-client.node.ts'
import { type Dispatcher, type DispatchHandler, dispatchRequest } from '../../src/http/dispatcher.ts'
import { headerValue } from '../../src/policy/response.ts'
import { nextTurn } from '../../src/runtime/clock.ts'
import { type Loopback, listen, readBody } from '../support/loopback.ts'

const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1')
const globals = globalThis as unknown as { [GLOBAL_DISPATCHER]: Dispatcher | undefined }
const BODY = '{"batch":[{"event":"Commande passée 🍰"}]}'
const open: Loopback[] = []

afterEach(async () => {
  vi.unstubAllGlobals()
  await Promise.all(open.splice(0).map((server) => server.close()))
})

async function serve(handler: RequestListener): Promise<string> {
  const server = await listen(handler)
  open.push(server)
  return `${server.url}/proxy/v1/batch?source=a`
}

function request(
  url: string,
  more: Partial<HTTPClientRequest<string | Uint8Array>> = {},
): HTTPClientRequest<string | Uint8Array> {
  return {
    url,
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: 'Basic d2s6', 'X-Retry-Count': '2' },
    body: BODY,
    httpRequestTimeout: 10_000,
    ...more,
  }
}

function post(url: string, more: Partial<HTTPClientRequest<string | Uint8Array>> = {}) {
  return dispatchRequest(fetchDispatcher() as Dispatcher, request(url, more))
}

describe('a request through the dispatcher of fetch', () => {
  test.each([
    ['text', BODY],
    ['bytes', new TextEncoder().encode(BODY)],
  ])('posts %s and the headers unchanged', async (_label, body) => {
    const seen: { method: string; url: string; headers: object; body: string }[] = []
    const url = await serve(async (incoming, reply) => {
      const { method = '', url = '', headers } = incoming
      seen.push({ method, url, headers, body: await readBody(incoming) })
      reply.end('{"success":true}')
    })

    const response = await post(url, { body })

    expect(response).toMatchObject({ status: 200, statusText: 'OK' })
    expect(await response.text?.()).toBe('{"success":true}')
    expect(seen).toEqual([
      { method: 'POST', url: '/proxy/v1/batch?source=a', headers: expect.any(Object), body: BODY },
    ])
    expect(seen[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(BODY)),
      authorization: 'Basic d2s6',
      'x-retry-count': '2',
    })
  })

  test.each([301, 302, 303, 307, 308, 401, 407, 429, 503])('resolves with a %i', async (status) => {
    let requests = 0
    const url = await serve((_incoming, reply) => {
      requests++
      reply.writeHead(status, { Location: '/elsewhere', 'Retry-After': '7' }).end()
    })

    const response = await post(url)
    await response.text?.()

    expect(response.status).toBe(status)
    expect(headerValue(response.headers, 'location')).toBe('/elsewhere')
    expect(headerValue(response.headers, 'retry-after')).toBe('7')
    expect(requests).toBe(1)
  })

  test('returns all values of a header that came more than once', async () => {
    const url = await serve((_incoming, reply) => {
      reply.writeHead(200, [
        ['Retry-After', '2'],
        ['RETRY-AFTER', '7'],
      ] as unknown as Record<string, string>)
      reply.end()
    })

    const { headers } = await post(url)

    expect(headerValue(headers, 'retry-after')).toBe('2, 7')
    expect(headerValue(headers, 'retry-later')).toBeUndefined()
    const all: Record<string, string> = {}
    headers?.['forEach']((value: string, name: string) => {
      all[name] = value
    })
    expect(all).toMatchObject({ 'retry-after': '2, 7', connection: 'keep-alive' })
  })

  test('ignores informational responses', async () => {
    const url = await serve((_incoming, reply) => {
      reply.writeEarlyHints({ link: '</style.css>; rel=preload' })
      reply.writeHead(202).end()
    })

    const response = await post(url)

    expect(response.status).toBe(202)
  })

  test('cuts off a response body longer than 64 KiB', async () => {
    const url = await serve((incoming, reply) => {
      incoming.socket.on('error', () => {})
      reply.end('x'.repeat(5_000_000))
    })

    const response = await post(url)

    expect(response.status).toBe(200)
    await expect(response.text?.()).rejects.toThrow('longer than 65536 bytes')
  })

  test('is aborted with its signal', async () => {
    const controller = new AbortController()
    let isClosed: () => void = () => {}
    const closed = new Promise<void>((resolve) => {
      isClosed = resolve
    })
    const url = await serve((incoming) => {
      incoming.socket.on('close', isClosed)
      controller.abort()
    })

    await expect(post(url, { signal: controller.signal })).rejects.toThrow('aborted')

    await closed
  })

  test('breaks off the response body when its signal is aborted after the headers', async () => {
    const url = await serve((_incoming, reply) => {
      reply.write('{')
    })
    const controller = new AbortController()

    const response = await post(url, { signal: controller.signal })
    const text = response.text?.()
    controller.abort()

    await expect(text).rejects.toThrow('aborted')
  })

  test('is not made when its signal was aborted before', async () => {
    let requests = 0
    const url = await serve((_incoming, reply) => {
      requests++
      reply.end()
    })

    await expect(post(url, { signal: AbortSignal.abort() })).rejects.toThrow('aborted')
    await (await post(url)).text?.()

    expect(requests).toBe(1)
  })

  test('is not sent when it was aborted before it had a connection', async () => {
    const controller = new AbortController()
    let connected: (abort: (reason: Error) => void) => void = () => {}
    const dispatcher: Dispatcher = {
      dispatch(_options, handler) {
        connected = (abort) => handler.onConnect(abort)
      },
    }
    const answer = dispatchRequest(dispatcher, request('http://127.0.0.1/', { signal: controller.signal }))
    controller.abort()
    await expect(answer).rejects.toThrow('aborted')

    const aborted: Error[] = []
    connected((reason) => aborted.push(reason))

    expect(aborted.map(({ message }) => message)).toEqual(['the request was aborted'])
  })

  test('rejects with the code of a refused connection', async () => {
    const url = await serve(() => {})
    await Promise.all(open.splice(0).map((server) => server.close()))

    await expect(post(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('rejects with the code of a lost connection', async () => {
    const url = await serve((incoming) => incoming.socket.destroy())

    const error = await post(url).catch((cause: unknown) => cause)

    expect(isConnectionLost(error)).toBe(true)
  })

  test('leaves no listener on the signal when it has ended', async () => {
    const url = await serve((_incoming, reply) => {
      reply.end()
    })
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')

    await (await post(url, { signal })).text?.()

    expect(added).toHaveBeenCalledTimes(1)
    expect(removed.mock.calls[0]?.[1]).toBe(added.mock.calls[0]?.[1])
  })
})

describe('the default client', () => {
  test('is mocked by the MockAgent of undici', async () => {
    const before = getGlobalDispatcher()
    const agent = new MockAgent()
    agent.disableNetConnect()
    const mock = { path: '/v1/batch', method: 'POST', body: BODY }
    agent
      .get('https://api.segment.io')
      .intercept(mock)
      .reply(202, '{}', { headers: { 'Retry-After': '3' } })
    setGlobalDispatcher(agent)
    try {
      const url = 'https://api.segment.io/v1/batch'

      const response = await defaultClient().makeRequest(request(url) as HTTPClientRequest)

      expect(response.status).toBe(202)
      expect(headerValue(response.headers, 'retry-after')).toBe('3')
      expect(await response.text?.()).toBe('{}')
      agent.assertNoPendingInterceptors()
    } finally {
      setGlobalDispatcher(before)
    }
  })

  test('sends through the dispatcher that the process has at that moment', async () => {
    const original = fetchDispatcher()
    const origins: string[] = []
    const seen = async (): Promise<number> => {
      globals[GLOBAL_DISPATCHER] = {
        dispatch(options, handler) {
          origins.push(options.origin)
          handler.onHeaders(207, [], () => {}, 'Mocked')
          handler.onComplete()
        },
      }
      try {
        return (
          await defaultClient().makeRequest(request('https://api.segment.io/v1/batch') as HTTPClientRequest)
        ).status
      } finally {
        globals[GLOBAL_DISPATCHER] = original
      }
    }

    expect(await seen()).toBe(207)
    expect(origins).toEqual(['https://api.segment.io'])
  })

  const others: [string, unknown][] = [
    ['a function of the user', async () => ({ status: 299, statusText: 'Patched' })],
    [
      'a function that calls undici',
      async function fetch(_input: string, _init = undefined) {
        const undici = async () => ({ status: 299, statusText: 'Patched' })
        return undici()
      },
    ],
    ['a bound function', (async () => ({ status: 299, statusText: 'Patched' })).bind(undefined)],
    ['a mock', vi.fn(async () => ({ status: 299, statusText: 'Patched' }))],
  ]
  test.each(others)(
    'calls the function that has replaced the fetch of Node.js: %s',
    async (_label, fetch) => {
      vi.stubGlobal('fetch', fetch)

      const { status } = await defaultClient().makeRequest(
        request('http://127.0.0.1:9/') as HTTPClientRequest,
      )

      expect(status).toBe(299)
      expect(fetchDispatcher()).toBeUndefined()
    },
  )

  test('uses no dispatcher that lacks the method dispatch', () => {
    const original = fetchDispatcher()
    try {
      for (const odd of [undefined, null, {}, { dispatch: 1 }]) {
        globals[GLOBAL_DISPATCHER] = odd as never
        expect(fetchDispatcher()).toBeUndefined()
      }
    } finally {
      globals[GLOBAL_DISPATCHER] = original
    }
    expect(fetchDispatcher()).toBe(original)
  })
})

test('a dispatcher that keeps its handlers keeps neither the responses nor the signals of requests that have ended', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const handlers: DispatchHandler[] = []
  const dispatcher: Dispatcher = {
    dispatch(_options, handler) {
      // The dispatchers of undici keep their handlers too, for up to 256 requests on each connection.
      handlers.push(handler)
      handler.onConnect(() => {})
      handler.onHeaders(200, [], () => {}, 'OK')
      handler.onComplete()
    },
  }
  const exchange = async (): Promise<WeakRef<object>[]> => {
    // This is not a real AbortSignal, because Node.js itself keeps references to AbortSignals.
    const signal = { addEventListener() {}, removeEventListener() {} } as unknown as AbortSignal
    const response = await dispatchRequest(dispatcher, request('http://localhost/', { signal }))
    return [new WeakRef(response), new WeakRef(signal)]
  }

  const refs = await exchange()
  // A WeakRef keeps its object alive until the end of the turn.
  await nextTurn()
  collect()

  expect(refs.map((ref) => ref.deref())).toEqual([undefined, undefined])
  expect(handlers).toHaveLength(1)
})
