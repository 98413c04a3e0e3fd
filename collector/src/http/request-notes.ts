import type { IncomingMessage } from 'node:http'
import { MAX_REQUEST_BODY_BYTES, type RequestProblem } from '../store/ports.ts'
import type { HttpProblem } from './reply.ts'

/** Notes about a request while it is handled, for its line in the log of requests. */
export class RequestNotes {
  /** Id of the request in the log. */
  readonly id: string
  /** The caller's address; behind trusted proxies, the one that they report. */
  readonly address: string
  /** Name of the source, as soon as it is known. */
  source: string | null = null
  /** `name/version` of the library that wrote the messages. */
  library: string | null = null
  bodyBytes = 0
  inflatedBytes = 0
  events = 0
  accepted = 0
  /** The write of the request's events, once it has begun. Its result decides the outcome of the events. */
  appending: Promise<unknown> | undefined
  problem: RequestProblem | null = null
  /** Id of the fault on demand that the request got. */
  fault: string | null = null
  body: string | null = null
  bodyIsCut = false

  constructor(id: string, address: string) {
    this.id = id
    this.address = address
  }

  /** Notes a problem, unless a more exact one was noted before. */
  refused(cause: HttpProblem): void {
    this.problem ??= { code: cause.code, message: cause.message }
  }

  /** Keeps the beginning of the body for people, without write keys. */
  tookBody(body: Buffer): void {
    this.inflatedBytes = body.length
    this.bodyIsCut = body.length > MAX_REQUEST_BODY_BYTES
    this.body = redactKeys(body.toString('utf8', 0, MAX_REQUEST_BODY_BYTES))
  }
}

/** Also matches a key that was cut off at the end of the text. */
const WRITE_KEY = /("writeKey"\s*:\s*")(?:[^"\\]|\\.)*("|\\?$)/g

function redactKeys(text: string): string {
  return text.includes('riteKey') ? text.replace(WRITE_KEY, '$1[redacted]$2') : text
}

const CREDENTIALS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-api-key',
  'x-write-key',
])

/** The headers of a request without its credentials. */
export function publicHeaders(request: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name === '__proto__') continue
    headers[name] = CREDENTIALS.has(name) ? '[redacted]' : String(value)
  }
  return headers
}
