import { Analytics } from 'trackpost'
import type { Process } from '../support/process.ts'

const LANES = 4
const PAUSE_MS = 60
/** A client that gets no answer for this long, for example from a suspended front, sends the events again. */
const TIMEOUT_MS = 6000
/** Within this time a front has to answer 503. */
const PROMISED_MS = 5000

/** Clients that send each event until it got 200, to one front after the other. */
export class Senders {
  readonly #fronts: readonly Process[]
  readonly #batch: number
  /** messageIds that got 200. */
  readonly answered = new Set<string>()
  readonly tracked = new Set<string>()
  /** The events that the SDK has reported as failed. */
  readonly givenUp: string[] = []
  readonly late: string[] = []
  requests = 0
  refused = 0
  failed = 0
  longestRefusalMs = 0
  #turn = 0
  #isHeld = false
  #isOver = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(fronts: readonly Process[], batch: number) {
    this.#fronts = fronts
    this.#batch = batch
  }

  start(): void {
    const lanes = Array.from({ length: LANES }, (_, lane) => this.#byHand(`hand-${lane}`))
    this.#running = Promise.all([...lanes, this.#withSdk()])
  }

  /** Resolves when every event so far got 200. */
  async hold(): Promise<void> {
    this.#isHeld = true
    while (this.answered.size < this.tracked.size && this.givenUp.length === 0) await pause()
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#running
  }

  async #send(path: string, init: RequestInit, ids: readonly string[]): Promise<Response> {
    const front = this.#fronts[this.#turn++ % this.#fronts.length] as Process
    const { pauses } = front
    const startMs = performance.now()
    const isSuspended = () => front.isPaused || front.pauses > pauses
    const wasPaused = front.isPaused
    this.requests++
    try {
      const response = await fetch(`${front.url}${path}`, {
        ...init,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      const body = await response.arrayBuffer()
      const ms = performance.now() - startMs
      if (response.status === 200) for (const id of ids) this.answered.add(id)
      if (response.status === 503 && !wasPaused && !isSuspended()) {
        this.refused++
        this.longestRefusalMs = Math.max(this.longestRefusalMs, ms)
        if (ms > PROMISED_MS) this.late.push(`${front.name}: 503 after ${Math.round(ms)} ms`)
      }
      return new Response(body, response)
    } catch (cause) {
      this.failed++
      throw cause
    }
  }

  async #byHand(name: string): Promise<void> {
    const headers = { 'content-type': 'application/json', authorization: `Basic ${btoa('shop:')}` }
    for (let number = 0; !this.#isOver; number++) {
      while (this.#isHeld && !this.#isOver) await pause()
      if (this.#isOver) return
      const ids = Array.from({ length: this.#batch }, (_, index) => `${name}-${number}-${index}`)
      for (const id of ids) this.tracked.add(id)
      const batch = ids.map((messageId) => ({ type: 'track', userId: 'zoë', event: 'Sent', messageId }))
      const init = { method: 'POST', headers, body: JSON.stringify({ batch }) }
      for (let isTaken = false; !isTaken; ) {
        const response = await this.#send('/v1/batch', init, ids).catch(() => undefined)
        isTaken = response?.status === 200
        await pause()
      }
    }
  }

  async #withSdk(): Promise<void> {
    const client = new Analytics({
      writeKey: 'shop',
      host: 'http://127.0.0.1:1',
      httpClient: async (_url, init) => {
        const { batch } = JSON.parse(String(init?.body)) as { batch: Array<{ messageId: string }> }
        return this.#send(
          '/v1/batch',
          init as RequestInit,
          batch.map(({ messageId }) => messageId),
        )
      },
      flushAt: this.#batch,
      flushInterval: PAUSE_MS,
      maxRetries: 1000,
    })
    let waiting = 0
    for (let number = 0; !this.#isOver; await pause()) {
      for (let index = 0; index < this.#batch && waiting < 30 * this.#batch && !this.#isHeld; index++) {
        const messageId = `sdk-${number++}`
        this.tracked.add(messageId)
        waiting++
        client.track({ userId: 'zoë', event: 'Sent', messageId }, (error) => {
          waiting--
          if (error) this.givenUp.push(`${messageId}: ${error.message}`)
        })
      }
    }
    await client.closeAndFlush({ timeout: 600_000 })
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
}
