import type { IncomingMessage } from 'node:http'
import { MAX_REQUEST_BODY_BYTES, type RequestProblem } from '../store/ports.ts'
import type { HttpProblem } from './reply.ts'

/** The facts about a request, which become one line in the list of requests. */
export class RequestNotes {
  readonly id: string
  /** Behind a trusted proxy, the address that the proxy reports. */
  readonly address: string
  /** Null until the source is known. */
  source: string | null = null
  /** `name/version` of the library that sent the messages. */
  library: string | null = null
  bodyBytes = 0
  inflatedBytes = 0
  events = 0
  accepted = 0
  /** The write of the request's events, once it has begun. */
  appending: Promise<unknown> | undefined
  problem: RequestProblem | null = null
  /** Id of the injected fault. */
  fault: string | null = null
  body: string | null = null
  bodyIsCut = false

  constructor(id: string, address: string) {
    this.id = id
    this.address = address
  }

  /** Keeps a more exact problem that was recorded before. */
  refused(cause: HttpProblem): void {
    this.problem ??= { code: cause.code, message: cause.message }
  }

  /** Keeps the beginning of the body for display, without write keys. */
  tookBody(body: Buffer): void {
    this.inflatedBytes = body.length
    this.bodyIsCut = body.length > MAX_REQUEST_BODY_BYTES
    this.body = redactKeys(body.toString('utf8', 0, MAX_REQUEST_BODY_BYTES))
  }
}

/** Also matches a key that is cut off at the end of the text. */
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

export function publicHeaders(request: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name === '__proto__') continue
    headers[name] = CREDENTIALS.has(name) ? '[redacted]' : String(value)
  }
  return headers
}
