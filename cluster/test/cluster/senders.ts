import { existsSync } from 'node:fs'
import { Analytics as Segment } from '@segment/analytics-node'
import { basic } from '../../../collector/test/support.ts'
import type { Analytics as Trackpost } from '../../../src/index.ts'
import { type Account, reached } from './account.ts'

/**
 * Events in a batch. With smaller batches, the full run would take more than an hour. With larger batches, each round would
 * take minutes at the destination.
 */
const BATCH = process.env['TEST_FULL'] === '1' ? 30 : 10
const TIMEOUT_MS = 4000
const PAUSE_MS = 20
/** Maximum number of events that wait in a client for a response. It keeps events from accumulating during an outage. */
const MAX_WAITING = 30 * BATCH

/** Clients of three kinds that send until they are stopped. In the end, each event has got 200. */
export class Senders {
  readonly #account: Account
  readonly #url: string
  /** messageIds that our SDK has reported as delivered. */
  readonly delivered = new Set<string>()
  /** The events that our SDK could not deliver, with the errors. */
  readonly givenUp: string[] = []
  tracked = 0
  #isHeld = false
  #isOver = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(account: Account, url: string) {
    this.#account = account
    this.#url = url
  }

  async start(): Promise<void> {
    const { Analytics } = await loadSdk()
    this.#running = Promise.all([
      this.#withSdk(Analytics),
      this.#withSegment(),
      this.#byHand('hand-a', 'batch'),
      this.#byHand('hand-b', 'batch'),
      this.#byHand('single', 'track'),
    ])
  }

  /** Pauses the clients; resolves when every event so far has got 200, or when our SDK has given up one. */
  async hold(): Promise<void> {
    this.#isHeld = true
    await reached(() => this.#account.answered.size === this.tracked || this.givenUp.length > 0)
  }

  goOn(): void {
    this.#isHeld = false
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#running
  }

  async #withSdk(Analytics: typeof Trackpost): Promise<void> {
    const client = new Analytics({
      writeKey: 'shop',
      host: this.#url,
      httpClient: this.#account.fetch(TIMEOUT_MS),
      flushAt: BATCH,
      flushInterval: PAUSE_MS,
      maxRetries: 1000,
    })
    let settled = 0
    for (let sent = 0; !this.#isOver; await pause()) {
      for (let index = 0; index < BATCH && sent - settled < MAX_WAITING && !this.#isHeld; index++) {
        const messageId = `sdk-${sent++}`
        this.tracked++
        client.track({ userId: 'zoë', event: 'Sent', messageId }, (error) => {
          settled++
          if (error === undefined) this.delivered.add(messageId)
          else this.givenUp.push(`${messageId}: ${error.message}`)
        })
      }
    }
    await client.closeAndFlush({ timeout: 600_000 })
  }

  async #withSegment(): Promise<void> {
    const client = new Segment({
      writeKey: 'shop',
      host: this.#url,
      httpClient: this.#account.fetch(TIMEOUT_MS) as never,
      flushAt: BATCH,
      flushInterval: PAUSE_MS,
      // Few, because this client doubles the wait between retries, up to a minute.
      maxRetries: 2,
    })
    // Without this listener, an error would end the process.
    client.on('error', () => {})
    let settled = 0
    const track = (messageId: string) => {
      client.track({ userId: 'zoë', event: 'Sent', messageId }, (error) => {
        if (error === undefined) settled++
        else track(messageId)
      })
    }
    let sent = 0
    for (; !this.#isOver; await pause()) {
      for (let index = 0; index < BATCH && sent - settled < MAX_WAITING && !this.#isHeld; index++) {
        track(`segment-${sent++}`)
        this.tracked++
      }
    }
    await reached(() => settled === sent)
    await client.closeAndFlush()
  }

  /** A minimal client that repeats each request until it gets 200. */
  async #byHand(name: string, kind: 'batch' | 'track'): Promise<void> {
    const send = this.#account.fetch(TIMEOUT_MS)
    for (let number = 0; !this.#isOver; number++) {
      while (this.#isHeld && !this.#isOver) await pause()
      if (this.#isOver) return
      const items = Array.from({ length: kind === 'batch' ? BATCH : 1 }, (_, index) => ({
        type: 'track',
        userId: 'zoë',
        event: 'Sent',
        messageId: `${name}-${number}-${index}`,
      }))
      this.tracked += items.length
      const body = JSON.stringify(kind === 'batch' ? { batch: items } : items[0])
      const headers = { 'content-type': 'application/json', authorization: basic('shop') }
      for (let isTaken = false; !isTaken; ) {
        const response = await send(`${this.#url}/v1/${kind}`, { method: 'POST', headers, body }).catch(
          () => {},
        )
        isTaken = response?.status === 200
        await pause()
      }
    }
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
}

async function loadSdk(): Promise<{ Analytics: typeof Trackpost }> {
  const built = new URL('../../../dist/index.js', import.meta.url)
  return existsSync(built) ? import(built.href) : import('../../../src/index.ts')
}
