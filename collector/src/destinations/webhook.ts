import { type ClientRequest, Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { DestinationConfig } from '../config/schema.ts'
import type { DueDelivery } from '../store/deliveries.ts'
import { systemClock } from '../system-clock.ts'
import { connectionReason } from './reason.ts'
import type { AttemptResult, Sender } from './sender.ts'

type WebhookConfig = Extract<DestinationConfig, { type: 'webhook' }>

/** The 4xx status codes that may be about the URL, the credentials or the load. Any other one is about the event. */
const RETRIED_STATUSES: ReadonlySet<number> = new Set([401, 403, 404, 408, 425, 429])
/** A delivery that was tried only while its webhook was paused is given up after this many times `giveUpAfterHours`. */
const PATIENCE_WHILE_PAUSED = 3
const HOUR_MS = 3_600_000
/** A longer response is not read to its end, and its connection is not used again. */
const MAX_RESPONSE_BYTES = 65_536

/** Posts messages to a URL, over connections that are kept. Does not follow redirects. */
export class WebhookSender implements Sender {
  readonly limit: number
  readonly isBatch = false
  readonly firstDelayMs: number
  readonly #config: WebhookConfig
  readonly #url: URL
  readonly #headers: Record<string, string>
  readonly #timeoutMs: number
  readonly #agent: HttpAgent | HttpsAgent

  constructor(config: WebhookConfig) {
    const { url, headers, timeout, concurrency, firstDelay } = config
    this.#config = config
    this.limit = concurrency
    this.firstDelayMs = firstDelay
    this.#url = new URL(url)
    this.#headers = { ...headers, 'content-type': 'application/json' }
    this.#timeoutMs = timeout
    const settings = { keepAlive: true, maxFreeSockets: concurrency }
    this.#agent = this.#url.protocol === 'https:' ? new HttpsAgent(settings) : new HttpAgent(settings)
  }

  isGivenUp({ receivedAtMs }: DueDelivery, attempts: number, nowMs: number, wasPaused: boolean): boolean {
    const { giveUpAfterHours, maxAttempts } = this.#config
    if (maxAttempts !== undefined && attempts >= maxAttempts) return true
    // A failure during a pause says nothing about the delivery, so it gets more time.
    const hours = giveUpAfterHours * (wasPaused ? PATIENCE_WHILE_PAUSED : 1)
    return nowMs - receivedAtMs >= hours * HOUR_MS
  }

  async send(deliveries: readonly DueDelivery[], signal: AbortSignal): Promise<AttemptResult[]> {
    return Promise.all(deliveries.map((delivery) => this.#attempt(delivery, signal)))
  }

  /** Never rejects. The timeout is for the whole response, but once its status is known, the status is the result. */
  async #attempt(delivery: DueDelivery, signal: AbortSignal): Promise<AttemptResult> {
    try {
      const status = await this.#post(delivery, signal, true)
      if (status >= 200 && status < 300) return { result: 'delivered' }
      const isAboutEvent = status >= 400 && status < 500 && !RETRIED_STATUSES.has(status)
      return { result: isAboutEvent ? 'failed' : 'retry', reason: `answered ${status}` }
    } catch (cause) {
      return { result: 'retry', reason: connectionReason(cause) }
    }
  }

  /** @param isAgain Whether to try again if the server has closed a kept connection in the meantime. */
  #post(delivery: DueDelivery, signal: AbortSignal, isAgain: boolean): Promise<number> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(new Error('closed'))
      const sent = this.#request({
        ...this.#headers,
        'content-length': String(Buffer.byteLength(delivery.body)),
        // The same in every attempt, so that the receiver can recognise repeats.
        'idempotency-key': delivery.key,
        'x-trackpost-attempt': String(delivery.attempts + 1),
      })
      const abort = () => sent.destroy(new Error('closed'))
      signal.addEventListener('abort', abort)
      const cancelTimer = systemClock.setTimer(() => sent.destroy(timeoutError()), this.#timeoutMs)
      let status: number | undefined
      // The last event of every request, even if there was neither a response nor an error (101). A request whose response has
      // begun is in flight until here.
      sent.once('close', () => {
        cancelTimer()
        signal.removeEventListener('abort', abort)
        if (status === undefined) reject(new Error('closed'))
        else resolve(status)
      })
      sent.on('error', (cause: NodeJS.ErrnoException) => {
        if (status !== undefined) return
        const isStale = isAgain && sent.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(cause.code ?? '')
        if (isStale) resolve(this.#post(delivery, signal, false))
        else reject(cause)
      })
      sent.once('response', (response) => {
        status = response.statusCode ?? 0
        let bytes = 0
        response.on('data', ({ length }: Buffer) => {
          bytes += length
          if (bytes > MAX_RESPONSE_BYTES) sent.destroy()
        })
      })
      sent.end(delivery.body)
    })
  }

  #request(headers: Record<string, string>): ClientRequest {
    const options = { method: 'POST', headers, agent: this.#agent }
    return this.#url.protocol === 'https:'
      ? requestHttps(this.#url, options)
      : requestHttp(this.#url, options)
  }

  close(): void {
    this.#agent.destroy()
  }
}

function timeoutError(): Error {
  return new DOMException('no response in time', 'TimeoutError')
}
