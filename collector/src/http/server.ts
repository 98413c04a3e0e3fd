import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Clock } from '../clock.ts'
import { STALL_MS } from './gone.ts'
import { HttpProblem, jsonHeaders } from './reply.ts'

/** Limits for connections. */
export interface ServerLimits {
  /** Longest time for the headers of a request, in milliseconds. */
  headersMs: number
  /** Longest time for a whole request, in milliseconds. */
  requestMs: number
  maxConnections: number
}

const DEFAULT_LIMITS: ServerLimits = { headersMs: 10_000, requestMs: 30_000, maxConnections: 1000 }

const MAX_HEADER_BYTES = 16_384
/** Longer than the idle timeout of common clients, so that the client closes an idle connection, not the server. */
const KEEP_ALIVE_MS = 65_000

/** Requests of a connection without an answer. Node.js would read any number, long before they can be answered. */
const MAX_PIPELINED = 16

/** How long open requests may take to finish when the server closes. */
const CLOSE_GRACE_MS = 5000

export interface RunningServer {
  /** Without a slash at the end. */
  url: string
  port: number
  /** Stops accepting connections, gives open requests some time to finish, and then closes the remaining connections. */
  close(): Promise<void>
}

export interface ServerHandlers {
  request(request: IncomingMessage, response: ServerResponse): void
  /** Called when a response was sent on a connection without a valid request. */
  broken(address: string, problem: HttpProblem): void
}

/** Rejects when the address is not available. */
export async function listen(
  port: number,
  host: string,
  given: Partial<ServerLimits> | undefined,
  clock: Clock,
  handlers: ServerHandlers,
): Promise<RunningServer> {
  const limits = { ...DEFAULT_LIMITS, ...given }
  let isEnding = false
  const openResponses = new Set<ServerResponse>()
  /** Connections that have had no request so far. Clients open some connections in advance. */
  const unused = new Set<Socket>()
  const take = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    if ((responsesOf.get(socket)?.size ?? 0) >= MAX_PIPELINED) socket.destroy()
    // The rest of the bytes that were read with the last request.
    if (socket.destroyed || ended.has(socket)) return
    if (isEnding) endConnectionAfter(response)
    openResponses.add(response)
    unused.delete(socket)
    responsesOf.get(socket)?.add(response)
    response.once('close', () => {
      openResponses.delete(response)
      responsesOf.get(socket)?.delete(response)
    })
    response.once('prefinish', () => {
      if (socket.writableLength === 0) return
      // The client must not keep an answer in memory for ever.
      response.once(
        'close',
        clock.setTimer(() => socket.destroy(), STALL_MS),
      )
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
      // Otherwise Node.js itself would refuse a request without a Host header, and it could not be recorded.
      requireHostHeader: false,
    },
    take,
  )
  // HTTP allows a server to ignore the Expect header.
  server.on('checkExpectation', take)
  server.maxConnections = limits.maxConnections
  // By default, Node.js leaves out all headers after the 2,000th, without an error: `Origin` and `Host` could be hidden there.
  // `maxHeaderSize` limits them.
  server.maxHeadersCount = 0
  server.on('connection', (socket) => {
    unused.add(socket)
    const responses = new Set<ServerResponse>()
    responsesOf.set(socket, responses)
    socket.once('close', () => {
      unused.delete(socket)
      // Node.js closes only the first response: others may wait behind it, if the client has not waited with its requests.
      for (const response of responses) if (response.socket === null) response.destroy().emit('close')
    })
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const broken = answerBrokenRequest(error, socket, clock)
    // A request that has begun is recorded by its handler. A connection without any bytes is not recorded, because browsers
    // open spare connections.
    const wasRequest = socket.bytesRead > 0 && !responsesOf.get(socket)?.size
    if (broken !== undefined && wasRequest) handlers.broken(socket.remoteAddress ?? '', broken)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host }, resolve)
  })
  server.removeAllListeners('error')
  const { address, family, port: own } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${own}`,
    port: own,
    async close() {
      isEnding = true
      for (const response of openResponses) endConnectionAfter(response)
      await closeServer(server, unused, clock)
      // A connection counts as closed slightly before its request is recorded.
      const cut = [...openResponses].filter(({ socket }) => socket !== null)
      await Promise.all(cut.map((response) => once(response, 'close')))
    },
  }
}

/** A kept-alive connection would delay the end, and accept new requests. */
function endConnectionAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}

function closeServer(server: Server, unused: ReadonlySet<Socket>, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const cancelCut = clock.setTimer(() => server.closeAllConnections(), CLOSE_GRACE_MS)
    server.close(() => {
      cancelCut()
      resolve()
    })
    server.closeIdleConnections()
    // `closeIdleConnections` leaves connections open that have never sent anything. `setImmediate` waits until bytes that have
    // arrived are read.
    setImmediate(() => {
      for (const socket of unused) if (socket.bytesRead === 0) socket.destroy()
    })
  })
}

const BROKEN_BY_ERROR: Readonly<Record<string, HttpProblem>> = {
  HPE_HEADER_OVERFLOW: new HttpProblem(431, 'headers_too_large', 'the headers are over 16 KB'),
  ERR_HTTP_REQUEST_TIMEOUT: new HttpProblem(408, 'timeout', 'the request took too long'),
}
const BAD_HTTP = new HttpProblem(400, 'bad_http', 'not a valid HTTP request')

const LINGER_MS = 500
const brokenBySocket = new WeakMap<Socket, HttpProblem>()
/** The responses in flight on each connection. */
const responsesOf = new WeakMap<Socket, Set<ServerResponse>>()

const ended = new WeakSet<Socket>()

/** What follows a request that is ambiguous may have been meant as a part of it, and is not handled. */
export function takeNoMore(socket: Socket): void {
  ended.add(socket)
}

export function brokenOn(socket: Socket): HttpProblem | undefined {
  return brokenBySocket.get(socket)
}

/** Responds to a request that is invalid or ambiguous HTTP, or whose headers or body do not arrive in time. */
function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Socket,
  clock: Clock,
): HttpProblem | undefined {
  if (brokenBySocket.has(socket)) return undefined
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return undefined
  }
  const broken = BROKEN_BY_ERROR[error.code ?? ''] ?? BAD_HTTP
  refuse(socket, broken, clock)
  return broken
}

function refuse(socket: Socket, problem: HttpProblem, clock: Clock): void {
  const { status, body } = problem
  const headers = Object.entries({ ...jsonHeaders(body), connection: 'close' })
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  brokenBySocket.set(socket, problem)
  // Reads on for a moment: bytes that arrive at a closed socket cause a TCP reset, and the client may see the reset before it
  // has read the response.
  socket.removeAllListeners('data').resume()
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`)
  clock.setTimer(() => socket.destroy(), LINGER_MS)
}
