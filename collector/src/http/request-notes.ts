import type { IncomingMessage, ServerResponse } from 'node:http'
import { gunzipSync } from 'node:zlib'
import type { RequestProblem } from '../record.ts'
import { redactBody } from './redact.ts'
import type { HttpProblem } from './reply.ts'

/** How much of a body is kept: all of it for nearly every request. */
export const MAX_BODY_KEPT = 32 * 1024
const MAX_ANSWER_CHARACTERS = 2048

/** One request, its response, and what is noted about them. */
export interface Exchange {
  request: IncomingMessage
  response: ServerResponse
  notes: RequestNotes
}

/** The facts about a request, which become one line in the list of requests. */
export class RequestNotes {
  /** Undefined in a process that records no requests. */
  readonly id: number | undefined
  /** Behind a trusted proxy, the address that the proxy reports. */
  readonly address: string
  source: string | null = null
  /** `name/version` of the library that sent the messages. */
  library: string | null = null
  bodyBytes = 0
  inflatedBytes = 0
  events = 0
  accepted = 0
  repeated = 0
  /** Ends when the request is handled, even if its client has hung up. */
  handling: Promise<unknown> = Promise.resolve()
  problem: RequestProblem | null = null
  fault: string | null = null
  body: string | null = null
  bodyIsCut = false
  /** The body of the response, if it is a short text. */
  answer: string | null = null

  constructor(id: number | undefined, address: string) {
    this.id = id
    this.address = address
  }

  /** Keeps a more exact problem that was recorded before. */
  refused({ code, message, more }: HttpProblem): void {
    this.problem ??= { code, message, ...more }
  }

  /** Keeps what is passed to `end`: all responses of the tracking API are sent by one call. */
  watch(response: ServerResponse): void {
    const end = response.end
    response.end = ((...given: [unknown?]) => {
      const [body] = given
      if (typeof body === 'string' && body.length <= MAX_ANSWER_CHARACTERS) this.answer = redactBody(body)
      return Reflect.apply(end, response, given)
    }) as typeof end
  }

  /** Keeps the beginning of a body that was refused, as it was sent. */
  sawBeginning({ headers }: IncomingMessage, beginning: Buffer): void {
    if (this.body !== null) return
    this.bodyBytes = Math.max(this.bodyBytes, Number(headers['content-length'] ?? 0) || 0, beginning.length)
    const isGzip = headers['content-encoding']?.trim().toLowerCase() === 'gzip'
    const text = isGzip ? inflated(beginning) : beginning
    if (text !== undefined) this.tookBody(text)
    this.bodyIsCut ||= beginning.length < this.bodyBytes
  }

  tookBody(body: Buffer): void {
    this.inflatedBytes = body.length
    this.bodyIsCut = body.length > MAX_BODY_KEPT
    this.body = redactBody(body.toString('utf8', 0, MAX_BODY_KEPT))
  }
}

/** Undefined if the data are broken, or too large. */
function inflated(data: Buffer): Buffer | undefined {
  try {
    return gunzipSync(data, { maxOutputLength: 16 * MAX_BODY_KEPT })
  } catch {
    return undefined
  }
}
