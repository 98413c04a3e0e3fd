import { type ClientRequest, Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { keyOf, type StreamEvent } from '../stream/message.ts'
import { type Destination, type Outcome, WRITTEN } from './destination.ts'

const TIMEOUT_MS = 8000
const CONCURRENCY = 32
/** After this many failures without a success, the rest of the batch fails without an attempt. */
const MAX_FAILURES = 8
/** Statuses that may be about the URL, the credentials or the load. Any other 4xx is about the event. */
const RETRIED_STATUSES: ReadonlySet<number> = new Set([401, 403, 404, 408, 425, 429])

/** Posts each message to a URL, with its `Idempotency-Key`. Does not follow redirects. */
export class Webhook implements Destination {
  readonly batchSize = 500
  readonly #url: URL
  readonly #headers: Readonly<Record<string, string>>
  readonly #agent: HttpAgent | HttpsAgent

  constructor(url: URL, headers: Readonly<Record<string, string>>) {
    this.#url = url
    this.#headers = headers
    const settings = { keepAlive: true, maxSockets: CONCURRENCY }
    this.#agent = url.protocol === 'https:' ? new HttpsAgent(settings) : new HttpAgent(settings)
  }

  /** @throws when no event was taken, nor refused, and one failed. */
  async write(events: readonly StreamEvent[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = []
    let next = 0
    let failures = 0
    const lane = async () => {
      for (let place = next++; place < events.length; place = next++) {
        const outcome: Outcome =
          failures < MAX_FAILURES
            ? await this.#post(events[place] as StreamEvent)
            : { result: 'failed', reason: 'the attempts before it failed' }
        failures = outcome.result === 'failed' ? failures + 1 : 0
        outcomes[place] = outcome
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, lane))
    const failed = outcomes.find((outcome) => outcome.result === 'failed')
    if (failed?.result === 'failed' && outcomes.every(({ result }) => result === 'failed'))
      throw new Error(failed.reason)
    return outcomes
  }

  async #post(event: StreamEvent): Promise<Outcome> {
    try {
      const status = await this.#send(event, true)
      if (status >= 200 && status < 300) return WRITTEN
      const isAboutEvent = status >= 400 && status < 500 && !RETRIED_STATUSES.has(status)
      return { result: isAboutEvent ? 'refused' : 'failed', reason: `answered ${status}` }
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException
      return { result: 'failed', reason: code ?? message }
    }
  }

  /** @param isAgain Whether to try again if the server has closed a kept connection in the meantime. */
  #send(event: StreamEvent, isAgain: boolean): Promise<number> {
    return new Promise((resolve, reject) => {
      const sent = this.#request({
        ...this.#headers,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(event.body)),
        // The same in every attempt, so that the receiver can recognise repeats.
        'idempotency-key': keyOf(event),
      })
      let status: number | undefined
      sent.on('error', (cause: NodeJS.ErrnoException) => {
        const isStale = isAgain && sent.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(cause.code ?? '')
        if (isStale && status === undefined) resolve(this.#send(event, false))
        else reject(cause)
      })
      sent.once('response', (response) => {
        status = response.statusCode ?? 0
        // The status decides; the rest of the response is read, so that the connection can be used again.
        resolve(status)
        response.resume()
      })
      sent.once('close', () => reject(new Error('the connection ended without a response')))
      sent.end(event.body)
    })
  }

  #request(headers: Record<string, string>): ClientRequest {
    // For the whole exchange, with a response that never ends.
    const options = { method: 'POST', headers, agent: this.#agent, signal: AbortSignal.timeout(TIMEOUT_MS) }
    return this.#url.protocol === 'https:'
      ? requestHttps(this.#url, options)
      : requestHttp(this.#url, options)
  }

  async close(): Promise<void> {
    this.#agent.destroy()
  }
}
