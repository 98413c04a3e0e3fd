import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Clock } from '../clock.ts'
import { problemBody, SECURITY_HEADERS } from './reply.ts'
import type { BrokenRequest } from './request-recorder.ts'

/** Limits of connections. */
export interface ServerLimits {
  /** Longest time for the headers of a request, milliseconds. */
  headersMs: number
  /** Longest time for a whole request, milliseconds. */
  requestMs: number
  maxConnections: number
}

export const DEFAULT_LIMITS: ServerLimits = { headersMs: 10_000, requestMs: 30_000, maxConnections: 10_000 }

const MAX_HEADER_BYTES = 16_384
/** Longer than the idle time of usual clients, so that they and not the server end a kept connection. */
const KEEP_ALIVE_MS = 65_000

/** Connections that the system keeps waiting; the runtime accepts one in a turn, and its own default is 511. */
const BACKLOG = 4096

/** A started server. */
export interface RunningServer {
  address: AddressInfo
  /** Has clients come back on new connections, which may lead elsewhere: kept ones end with their next response. */
  drain(): void
  /** Stops taking connections, lets open requests finish for so long, then cuts what is left. */
  close(graceMs: number): Promise<void>
}

/** Called for everything that comes in. */
export interface ServerHandlers {
  request(request: IncomingMessage, response: ServerResponse): void
  connection(): void
  /** Something that never became a request was answered. */
  broken(address: string, broken: BrokenRequest): void
}

/** Starts listening; rejects when the address cannot be had. */
export async function listen(
  port: number,
  host: string,
  limits: ServerLimits,
  clock: Clock,
  handlers: ServerHandlers,
): Promise<RunningServer> {
  let isEnding = false
  const openResponses = new Set<ServerResponse>()
  /** Connections on which no request has begun yet: clients open some ahead. */
  const unused = new Set<Socket>()
  const take = (request: IncomingMessage, response: ServerResponse) => {
    if (isEnding) endConnectionAfter(response)
    openResponses.add(response)
    unused.delete(request.socket)
    requestsOf.set(request.socket, (requestsOf.get(request.socket) ?? 0) + 1)
    response.once('close', () => {
      openResponses.delete(response)
      requestsOf.set(request.socket, (requestsOf.get(request.socket) ?? 1) - 1)
    })
    handlers.request(request, response)
  }
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: Math.max(20, Math.min(1000, Math.floor(limits.headersMs / 10))),
      keepAliveTimeout: KEEP_ALIVE_MS,
      noDelay: true,
      // Requests that the runtime refuses by itself are in no log: a missing Host, an Expect that it does not know, CONNECT.
      requireHostHeader: false,
    },
    take,
  )
  // An expectation may be ignored.
  server.on('checkExpectation', take)
  server.on('connect', ({ socket }: IncomingMessage) => {
    socket.on('error', () => {})
    refuse(socket, NO_PROXY, clock)
    handlers.broken(socket.remoteAddress ?? '', NO_PROXY)
  })
  server.maxConnections = limits.maxConnections
  server.on('connection', (socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
    handlers.connection()
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const broken = answerBrokenRequest(error, socket, clock)
    // A request that was begun is written down by itself; where nothing came, there was none: browsers open spare connections.
    const wasRequest = socket.bytesRead > 0 && !requestsOf.get(socket)
    if (broken !== undefined && wasRequest) handlers.broken(socket.remoteAddress ?? '', broken)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog: BACKLOG }, resolve)
  })
  server.removeAllListeners('error')
  const drain = () => {
    isEnding = true
    for (const response of openResponses) endConnectionAfter(response)
  }
  return {
    address: server.address() as AddressInfo,
    drain,
    async close(graceMs) {
      drain()
      await closeServer(server, unused, graceMs, clock)
      // Connections are counted as gone a moment before their requests are told so, and written down.
      const cut = [...openResponses].filter(({ socket }) => socket !== null)
      await Promise.all(cut.map((response) => once(response, 'close')))
    },
  }
}

/** A kept connection must not hold up the end, nor take new requests on the way there. */
function endConnectionAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}

function closeServer(
  server: Server,
  unused: ReadonlySet<Socket>,
  graceMs: number,
  clock: Clock,
): Promise<void> {
  return new Promise((resolve) => {
    const cancelCut = clock.setTimer(() => server.closeAllConnections(), graceMs)
    server.close(() => {
      cancelCut()
      resolve()
    })
    server.closeIdleConnections()
    // The runtime does not call those idle that have never sent anything. What has come by now is read first.
    setImmediate(() => {
      for (const socket of unused) if (socket.bytesRead === 0) socket.destroy()
    })
  })
}

const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  405: 'Method Not Allowed',
  431: 'Request Header Fields Too Large',
}
const BROKEN_BY_ERROR: Readonly<Record<string, BrokenRequest>> = {
  HPE_HEADER_OVERFLOW: { status: 431, code: 'headers_too_large', message: 'the headers are over 16 KB' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: 'timeout', message: 'the request took too long' },
}
const BAD_HTTP: BrokenRequest = { status: 400, code: 'bad_http', message: 'not a valid HTTP request' }

const NO_PROXY: BrokenRequest = { status: 405, code: 'method', message: 'CONNECT is for proxies' }

const LINGER_MS = 500
const brokenBySocket = new WeakMap<Socket, BrokenRequest>()
/** Requests under way. */
const requestsOf = new WeakMap<Socket, number>()

/** The response on a connection when its request broke off. */
export function brokenOn(socket: Socket): BrokenRequest | undefined {
  return brokenBySocket.get(socket)
}

/** Answers what never became a request, or not to its end: broken or ambiguous HTTP, headers or body that do not come. */
function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Socket,
  clock: Clock,
): BrokenRequest | undefined {
  if (brokenBySocket.has(socket)) return undefined
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return undefined
  }
  const broken = BROKEN_BY_ERROR[error.code ?? ''] ?? BAD_HTTP
  refuse(socket, broken, clock)
  return broken
}

/** Answers on a connection that has no request, and ends it. */
function refuse(socket: Socket, broken: BrokenRequest, clock: Clock): void {
  const body = JSON.stringify(problemBody(broken))
  const headers = Object.entries({
    ...SECURITY_HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  brokenBySocket.set(socket, broken)
  // The client may go on sending for a moment: bytes that meet a closed socket cause a reset, and a reset can
  // overtake the response.
  socket.removeAllListeners('data').resume()
  socket.end(`HTTP/1.1 ${broken.status} ${STATUS_TEXTS[broken.status]}\r\n${headers.join('')}\r\n${body}`)
  clock.setTimer(() => socket.destroy(), LINGER_MS)
}
