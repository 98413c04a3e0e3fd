import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Clock } from '../clock.ts'
import { problemBody, SECURITY_HEADERS } from './reply.ts'

/** Limits of connections; the defaults are those of row S48. */
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

/** A started server. */
export interface RunningServer {
  address: AddressInfo
  /** Stops taking connections, lets open requests finish for so long, then cuts what is left. */
  close(graceMs: number): Promise<void>
}

/** Starts listening; rejects when the address cannot be had. */
export async function listen(
  port: number,
  host: string,
  limits: ServerLimits,
  clock: Clock,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<RunningServer> {
  let isClosing = false
  const openResponses = new Set<ServerResponse>()
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: Math.max(20, Math.min(1000, Math.floor(limits.headersMs / 10))),
      keepAliveTimeout: KEEP_ALIVE_MS,
      noDelay: true,
    },
    (request, response) => {
      if (isClosing) endConnectionAfter(response)
      openResponses.add(response)
      response.once('close', () => openResponses.delete(response))
      handle(request, response)
    },
  )
  server.maxConnections = limits.maxConnections
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    answerBrokenRequest(error, socket, clock),
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  server.removeAllListeners('error')
  return {
    address: server.address() as AddressInfo,
    close(graceMs) {
      isClosing = true
      for (const response of openResponses) endConnectionAfter(response)
      return closeServer(server, graceMs, clock)
    },
  }
}

/** A kept connection must not hold up the end, nor take new requests on the way there. */
function endConnectionAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}

function closeServer(server: Server, graceMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const cancelCut = clock.setTimer(() => server.closeAllConnections(), graceMs)
    server.close(() => {
      cancelCut()
      resolve()
    })
    server.closeIdleConnections()
  })
}

const STATUS_BY_ERROR: Readonly<Record<string, [status: string, code: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'headers_too_large',
    'the headers are over 16 KB',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'timeout', 'the request took too long'],
}

const LINGER_MS = 500
const answered = new WeakSet<Socket>()

/** Answers what never became a request: broken or ambiguous HTTP, headers or body that do not come. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket, clock: Clock): void {
  if (answered.has(socket)) return
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, code, message] = STATUS_BY_ERROR[error.code ?? ''] ?? [
    '400 Bad Request',
    'bad_http',
    'not a valid HTTP request',
  ]
  const body = JSON.stringify(problemBody({ code, message }))
  const headers = Object.entries({
    ...SECURITY_HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  answered.add(socket)
  // Whoever still sends is let send on for a moment: bytes that meet a closed socket cause a reset, and a reset
  // can overtake the answer.
  socket.removeAllListeners('data').resume()
  socket.end(`HTTP/1.1 ${status}\r\n${headers.join('')}\r\n${body}`)
  clock.setTimer(() => socket.destroy(), LINGER_MS)
}
