import { STATUS_CODES } from 'node:http'
import type { HTTPClient, HTTPClientRequest, HTTPResponse } from '../../src/http/client.ts'
import type { FakeClock } from './fake-clock.ts'

/** One message, as it is on the wire. */
export type WireMessage = Record<string, unknown> & {
  type: string
  messageId: string
  timestamp: string
  context: Record<string, unknown>
}

/** A request that the client has made. */
export interface SentRequest extends HTTPClientRequest {
  /** The monotonic moment at which it was made, in milliseconds. */
  readonly atMs: number
  readonly batch: WireMessage[]
  readonly messageIds: string[]
}

/** The reaction of the service to a request: a response, or none. */
export type Reply = (request: SentRequest) => Promise<HTTPResponse> | HTTPResponse

/** An answer with this status, and the status text that belongs to it. */
export function status(code: number, headers: Record<string, string> = {}): Reply {
  return () => ({ status: code, statusText: STATUS_CODES[code] ?? '', headers, text: async () => '' })
}

/** No answer: the request fails with an error of this code, as Node.js words it. */
export function networkError(code: string): Reply {
  return () => Promise.reject(Object.assign(new Error(`connect ${code} 192.0.2.7:443`), { code }))
}

/** No answer, ever, not even to being aborted. */
export const silence: Reply = () => new Promise(() => {})

/** No answer until the request is aborted, as fetch does it. */
export const hangUntilAborted: Reply = ({ signal }) =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))

/** An HTTP client that answers as told: with one reply after the other, and the last of them for ever. */
export class ScriptedClient implements HTTPClient {
  readonly requests: SentRequest[] = []
  readonly #clock: FakeClock
  #replies: readonly Reply[]
  #used = 0
  #open = 0
  /** The most requests that were ever under way side by side. */
  mostOpen = 0

  constructor(clock: FakeClock, replies: readonly Reply[] = [status(200)]) {
    this.#clock = clock
    this.#replies = replies
  }

  /** Sets the next replies; the last one repeats. */
  answerWith(...replies: Reply[]): void {
    this.#replies = replies
    this.#used = 0
  }

  async makeRequest(request: HTTPClientRequest): Promise<HTTPResponse> {
    const { batch } = JSON.parse(request.body) as { batch: WireMessage[] }
    const messageIds = batch.map(({ messageId }) => messageId)
    const sent: SentRequest = { ...request, atMs: this.#clock.monotonic(), batch, messageIds }
    this.requests.push(sent)
    const reply = this.#replies[Math.min(this.#used++, this.#replies.length - 1)] as Reply
    this.mostOpen = Math.max(this.mostOpen, ++this.#open)
    try {
      return await reply(sent)
    } finally {
      this.#open--
    }
  }

  /** Milliseconds between one request and the next. */
  get gapsMs(): number[] {
    return this.requests.slice(1).map(({ atMs }, index) => atMs - (this.requests[index] as SentRequest).atMs)
  }

  /** How many events each request carried. */
  get batchSizes(): number[] {
    return this.requests.map(({ batch }) => batch.length)
  }
}
