import type * as HTTP from 'node:http'
import { urlToHttpOptions } from 'node:url'
import { soon } from '../runtime/clock.ts'
import type { ByteHTTPClient, HTTPClientRequest, HTTPResponse, OwnRequest, OwnResponse } from './client.ts'
import { MAX_RESPONSE_BYTES, readAll } from './response.ts'

/**
 * A connection that was idle from one look to the next is closed, so after 2 to 4 s: before common servers (5 s) and load balancers
 * close it. The option `timeout` of an agent would cost each request more than it costs to look.
 */
const LOOK_MS = 2_000
/** Taken now, because tests that fake timers would run this one for ever. */
const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = globalThis

/** Its functions are looked up for each call, because mocks (msw, nock) and instrumentation replace them. */
type HTTPModule = Pick<typeof HTTP, 'Agent' | 'request' | 'globalAgent'>

interface Scheme {
  readonly module: HTTPModule
  readonly agent: HTTP.Agent
  /** Runs while there are connections. */
  timer: ReturnType<typeof setTimeout> | undefined
}

/**
 * An HTTP client that uses `node:http` and `node:https`, with connections of its own, which are kept alive for 2 to 4 s, or with the
 * `globalAgent` if the process has replaced that (a proxy, a client certificate). A replaced `fetch` or its dispatcher, which the
 * default client calls, does not apply. Never follows a redirect.
 *
 * @example
 * import { NodeHTTPClient } from 'trackpost/node'
 * const analytics = new Analytics({ writeKey, httpClient: new NodeHTTPClient() })
 */
export class NodeHTTPClient implements ByteHTTPClient {
  readonly #schemes = new Map<string, Scheme>()
  /** The options parsed from `#url`, the URL of the last request: most processes have one endpoint. */
  #target: HTTP.RequestOptions = {}
  #url = ''

  /** Always `true`. */
  takesBytes(): boolean {
    return true
  }

  /** Makes one request. Rejects with the error of `node:http` when there is no response. */
  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    const { signal, httpRequestTimeout: timeoutMs, ...rest } = request
    return new Promise<HTTPResponse>((resolve, reject) => {
      if (signal?.aborted) return reject(abortError())
      const abort = (): void => {
        reject(abortError())
        stop()
      }
      const onClose = (): void => signal?.removeEventListener('abort', abort)
      const given = { ...rest, timeoutMs, keptBytes: MAX_RESPONSE_BYTES, onClose }
      const stop = this.startOwn(given, resolve, reject)
      signal?.addEventListener('abort', abort)
    })
  }

  /** @internal */
  startOwn(
    request: OwnRequest,
    onResponse: (response: OwnResponse) => void,
    onError: (cause: unknown) => void,
  ): () => void {
    if (request.url !== this.#url) {
      this.#target = urlToHttpOptions(new URL(request.url))
      this.#url = request.url
    }
    const target = this.#target
    const protocol = target.protocol === 'https:' ? 'https:' : 'http:'
    const scheme = this.#schemes.get(protocol)
    if (scheme !== undefined) return send(scheme, target, request, onResponse, onError)
    const module = loadModule(protocol)
    if (!(module instanceof Promise))
      return send(this.#open(protocol, module), target, request, onResponse, onError)
    let isStopped = false
    let stop = (): void => {
      isStopped = true
    }
    module
      .then((module) => {
        if (!isStopped) stop = send(this.#open(protocol, module), target, request, onResponse, onError)
      })
      .catch(onError)
    return () => stop()
  }

  /** Closes all connections, including connections in use. A later request opens a new connection. */
  close(): void {
    for (const { agent, timer } of this.#schemes.values()) {
      agent.destroy()
      clearRealTimeout(timer)
    }
    this.#schemes.clear()
  }

  #open(protocol: string, module: HTTPModule): Scheme {
    // Two requests may have waited for the module: only the first one creates the entry.
    let scheme = this.#schemes.get(protocol)
    if (scheme === undefined) {
      scheme = { module, agent: new module.Agent({ keepAlive: true }), timer: undefined }
      this.#schemes.set(protocol, scheme)
    }
    return scheme
  }
}

/**
 * `import()` is used only if there is no `getBuiltinModule`: on Node.js 22 and later, importing node:http also loads undici,
 * which takes ten times as long.
 */
function loadModule(protocol: 'http:' | 'https:'): HTTPModule | Promise<HTTPModule> {
  const builtin = (process as { getBuiltinModule?: (name: string) => unknown }).getBuiltinModule?.(
    `node:${protocol.slice(0, -1)}`,
  )
  if (builtin !== undefined) return builtin as HTTPModule
  const loading: Promise<{ default: HTTPModule }> =
    protocol === 'https:' ? import('node:https') : import('node:http')
  return loading.then((module) => module.default)
}

/** How many bytes a connection had sent when it was last seen idle. */
const seen = new WeakMap<object, number>()

/** Closes connections that were idle all the time since the last look. */
function look(scheme: Scheme): void {
  const { freeSockets, sockets } = scheme.agent
  for (const socket of Object.values(freeSockets).flatMap((all = []) => all)) {
    if (seen.get(socket) === socket.bytesWritten) socket.destroy()
    else seen.set(socket, socket.bytesWritten)
  }
  const isDone = Object.keys(freeSockets).length + Object.keys(sockets).length === 0
  scheme.timer = isDone ? undefined : lookLater(scheme)
}

function lookLater(scheme: Scheme): NonNullable<Scheme['timer']> {
  const timer = setRealTimeout(look, LOOK_MS, scheme)
  timer.unref()
  return timer
}

function send(
  scheme: Scheme,
  target: HTTP.RequestOptions,
  { headers, body: given, keptBytes, onClose }: OwnRequest,
  onResponse: (response: OwnResponse) => void,
  onError: (cause: unknown) => void,
): () => void {
  const body = typeof given === 'string' ? Buffer.from(given) : given
  const { module, agent } = scheme
  const { globalAgent } = module
  scheme.timer ??= lookLater(scheme)
  const outgoing = module.request({
    ...target,
    method: 'POST',
    // With `Content-Length`, the body is sent in one piece and not in chunks. The header is the first of the literal, because
    // adding it after the others is ten times as slow.
    headers: { 'Content-Length': body.byteLength, ...headers },
    agent: isReplaced(globalAgent, module) ? globalAgent : agent,
  })
  let isAnswered = false
  outgoing.on('response', (incoming) => {
    isAnswered = true
    const response = toResponse(incoming, keptBytes)
    // Most bodies have arrived with the head, and have been read by then.
    soon(() => onResponse(response))
  })
  outgoing.on('error', (error) => {
    if (!isAnswered) onError(explained(error, target))
    isAnswered = true
  })
  // A response with status 101 closes the request without an error.
  outgoing.on('close', () => {
    if (!isAnswered) onError(new Error('the connection was closed before there was a response'))
    isAnswered = true
    onClose?.()
  })
  outgoing.end(body)
  return () => {
    isAnswered = true
    // Destroyed without an error, because a socket that has just gone back to the pool has no `error` listener.
    outgoing.destroy()
  }
}

/** Options of the agents that Node.js makes. */
const USUAL_OPTIONS = new Set([
  'keepAlive',
  'scheduling',
  'timeout',
  'noDelay',
  'path',
  'proxyEnv',
  'defaultPort',
  'protocol',
])
const knownAgents = new WeakMap<HTTP.Agent, boolean>()

/** Whether the process has set another global agent: of another class, with another way to connect, or with further options. */
function isReplaced(agent: HTTP.Agent | undefined, { Agent }: HTTPModule): boolean {
  if (agent === undefined || agent === null) return false
  let isOther = knownAgents.get(agent)
  if (isOther === undefined) {
    const { createConnection, options } = agent as HTTP.Agent & {
      createConnection?: unknown
      options?: object
    }
    isOther =
      agent.constructor !== Agent ||
      createConnection !== (Agent.prototype as { createConnection?: unknown }).createConnection ||
      Object.keys(options ?? {}).some((name) => !USUAL_OPTIONS.has(name))
    knownAgents.set(agent, isOther)
  }
  return isOther
}

interface ConnectError extends Error {
  readonly code?: string
  readonly address?: string
  readonly port?: number
  readonly errors?: readonly ConnectError[]
}

/** Names all addresses that were tried, and says what to write when `localhost` was tried as `::1` alone. */
function explained(error: ConnectError, { hostname }: HTTP.RequestOptions): Error {
  const tried = error.errors ?? [error]
  const addresses = tried.flatMap(({ address, port }) => (address === undefined ? [] : nameOf(address, port)))
  const isOnlyV6 =
    hostname === 'localhost' && addresses.length > 0 && tried.every(({ address }) => address === '::1')
  const isRefused = tried.every(({ code }) => code === 'ECONNREFUSED')
  const hint = isOnlyV6 && isRefused ? '; write 127.0.0.1 instead of localhost, which is only ::1 here' : ''
  const isNamed = addresses.every((address) => error.message.includes(address))
  if (hint === '' && isNamed) return error
  const { code = 'ERROR' } = error
  const message = isNamed ? error.message : `connect ${code} ${addresses.join(', ')}`
  return Object.assign(new Error(message + hint), { code })
}

function nameOf(address: string, port: number | undefined): string {
  return port === undefined ? address : `${address}:${port}`
}

function abortError(): Error {
  return new Error('the request was aborted')
}

function toResponse(incoming: HTTP.IncomingMessage, keptBytes: number): OwnResponse {
  const status = incoming.statusCode ?? 0
  // Most bodies have arrived with the head. Nobody wants this one, so it is read away here, where it costs least.
  const isUnwanted = keptBytes === 0 && status >= 200 && status < 300
  if (isUnwanted) incoming.resume()
  const response = {
    status,
    statusText: incoming.statusMessage ?? '',
    headers: incoming.headers,
    get isFree() {
      return isUnwanted && (incoming.complete || incoming.destroyed)
    },
    body: {
      readTo: (add: (chunk: Uint8Array) => void) => readTo(incoming, add),
      destroy: () => incoming.destroy(),
    },
    text: () => readAll(response),
  }
  return response
}

function readTo(incoming: HTTP.IncomingMessage, add: (chunk: Uint8Array) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    incoming.on('data', (chunk) => {
      try {
        add(chunk)
      } catch (error) {
        reject(error)
        incoming.destroy()
      }
    })
    let isEnded = false
    incoming.on('end', () => {
      isEnded = true
      // The socket is back in the pool now.
      resolve()
    })
    incoming.on('error', reject)
    // The check avoids making an error for every response, which is slow.
    const onClose = (): void => {
      if (!isEnded) reject(new Error('the response body broke off'))
    }
    incoming.on('close', onClose)
    // The response may have broken off before the listeners were added.
    if (incoming.destroyed) onClose()
  })
}
