import { STATUS_CODES } from 'node:http'
import type { HTTPClient, HTTPClientRequest, HTTPResponse } from '../../src/http/client.ts'
import type { FakeClock } from './fake-clock.ts'

export type WireMessage = Record<string, unknown> & {
  type: string
  messageId: string
  timestamp: string
  context: Record<string, unknown>
}

export interface SentRequest extends HTTPClientRequest {
  /** The time of the request, in milliseconds since the fake clock was created. */
  readonly atMs: number
  readonly batch: WireMessage[]
  readonly messageIds: string[]
}

/** The reaction of the service to a request: a response, an error, or a promise that never settles. */
export type Reply = (request: SentRequest) => Promise<HTTPResponse> | HTTPResponse

export function status(code: number, headers: Record<string, string> = {}): Reply {
  return () => ({ status: code, statusText: STATUS_CODES[code] ?? '', headers, text: async () => '' })
}

export function networkError(code: string): Reply {
  return () => Promise.reject(Object.assign(new Error(`connect ${code} 192.0.2.7:443`), { code }))
}

/** Never responds, not even when the request is aborted. */
export const silence: Reply = () => new Promise(() => {})

/** Does not respond. Fails when the request is aborted, as `fetch` does. */
export const hangUntilAborted: Reply = ({ signal }) =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))

/** An HTTP client that gives these replies one after the other, and then repeats the last reply. */
export class ScriptedClient implements HTTPClient {
  readonly requests: SentRequest[] = []
  readonly #clock: FakeClock
  #replies: readonly Reply[]
  #used = 0
  #open = 0
  /** The largest number of requests that were in flight at the same time. */
  mostOpen = 0

  constructor(clock: FakeClock, replies: readonly Reply[] = [status(200)]) {
    this.#clock = clock
    this.#replies = replies
  }

  answerWith(...replies: Reply[]): void {
    this.#replies = replies
    this.#used = 0
  }

  async makeRequest(request: HTTPClientRequest): Promise<HTTPResponse> {
    const { batch } = JSON.parse(request.body) as { batch: WireMessage[] }
    const messageIds = batch.map(({ messageId }) => messageId)
    const sent: SentRequest = { ...request, atMs: this.#clock.elapsedMs, batch, messageIds }
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

  get batchSizes(): number[] {
    return this.requests.map(({ batch }) => batch.length)
  }
}
