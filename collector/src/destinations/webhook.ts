import type { DestinationConfig } from '../config/schema.ts'
import { decoded } from '../percent-decoding.ts'
import type { DueDelivery } from '../store/deliveries.ts'
import { systemClock } from '../system-clock.ts'
import { type AttemptResult, connectionReason, DELIVERED, type Sender } from './sender.ts'

type WebhookConfig = Extract<DestinationConfig, { type: 'webhook' }>

/** The 4xx status codes that may be about the URL, the credentials or the load. Any other one is about the event. */
const RETRIED_STATUSES: ReadonlySet<number> = new Set([401, 403, 404, 408, 425, 429])
/** A delivery that fails is given up when its event is so old. */
const GIVE_UP_MS = 24 * 3_600_000
/** A longer response is not read to its end, and its connection is not used again. */
const MAX_RESPONSE_BYTES = 65_536

/** Posts messages to a URL. Does not follow redirects. */
export class WebhookSender implements Sender {
  readonly limit: number
  readonly firstDelayMs: number
  readonly #config: WebhookConfig
  readonly #url: URL
  readonly #headers: Record<string, string>

  constructor(config: WebhookConfig) {
    this.#config = config
    this.limit = config.concurrency
    this.firstDelayMs = config.firstDelay
    this.#url = new URL(config.url)
    this.#headers = { ...config.headers, 'content-type': 'application/json' }
    const { username, password } = this.#url
    if (username === '') return
    const user = `${decoded(username)}:${decoded(password)}`
    this.#headers['authorization'] = `Basic ${Buffer.from(user).toString('base64')}`
    this.#url.username = this.#url.password = ''
  }

  isGivenUp({ receivedAtMs }: DueDelivery, attempts: number, nowMs: number): boolean {
    const { maxAttempts = Number.POSITIVE_INFINITY } = this.#config
    return attempts >= maxAttempts || nowMs - receivedAtMs >= GIVE_UP_MS
  }

  async send(deliveries: readonly DueDelivery[], signal: AbortSignal): Promise<AttemptResult[]> {
    return Promise.all(deliveries.map((delivery) => this.#attempt(delivery, signal)))
  }

  /** The timeout is for the whole response, but once its status is known, the status is the result. */
  async #attempt({ body, key, attempts }: DueDelivery, signal: AbortSignal): Promise<AttemptResult> {
    const end = new AbortController()
    const stop = () => end.abort()
    const late = () => end.abort(new DOMException('no response in time', 'TimeoutError'))
    const cancelTimer = systemClock.setTimer(late, this.#config.timeout)
    signal.addEventListener('abort', stop)
    try {
      signal.throwIfAborted()
      const response = await fetch(this.#url, {
        method: 'POST',
        // The key is the same in every attempt, so that the receiver can recognise repeats.
        headers: { ...this.#headers, 'idempotency-key': key, 'x-trackpost-attempt': String(attempts + 1) },
        body,
        redirect: 'manual',
        signal: end.signal,
      })
      await readToEnd(response).catch(() => {})
      if (response.ok) return DELIVERED
      const { status } = response
      const isAboutEvent = status >= 400 && status < 500 && !RETRIED_STATUSES.has(status)
      return { result: isAboutEvent ? 'failed' : 'retry', reason: `answered ${status}` }
    } catch (cause) {
      return { result: 'retry', reason: connectionReason(cause) }
    } finally {
      cancelTimer()
      signal.removeEventListener('abort', stop)
    }
  }
}

async function readToEnd({ body }: Response): Promise<void> {
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += (chunk as Uint8Array).length
    if (bytes > MAX_RESPONSE_BYTES) return
  }
}
