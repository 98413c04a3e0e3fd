import type { Clock } from '../clock.ts'
import { FairQueue } from '../fair-queue.ts'
import { systemClock } from '../system-clock.ts'

/** Bytes of JSON that are parsed and checked in one turn of the event loop. This takes about ten milliseconds. */
const BYTES_PER_TURN = 131_072

/** Messages that are being checked or stored. While there are more, no other request begins: its body needs less memory. */
const MAX_OPEN = 10_000
/** The most messages that a body can have which is not parsed yet. */
const maxMessages = (bytes: number) => Math.min(5000, bytes / 3)

/** While clients connect, work waits for this long, and then runs for this long. */
const ACCEPTING_MS = 50

interface Waiting {
  bytes: number
  start(): void
}

/**
 * Spreads the work of requests over turns of the event loop, so that no request has to wait for the work of all others.
 *
 * Work that does not fit into the current turn waits for a later one; the senders take turns. While clients connect, all work
 * waits for half of the time. Node.js accepts one connection per turn: if each turn took forty milliseconds, the last of a
 * thousand connections would wait forty seconds.
 */
export class Turns {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #waiting = new FairQueue<Waiting>()
  /** Work that continues: it comes first, so that few requests at a time have their messages in memory. */
  readonly #continuing: Waiting[] = []
  #open = 0
  #bytesLeft = BYTES_PER_TURN
  #isScheduled = false
  #hasAccepted = false
  #acceptingSinceMs = Number.NEGATIVE_INFINITY

  constructor(clock: Pick<Clock, 'monotonic'> = systemClock) {
    this.#clock = clock
  }

  /** Must be called for each new connection. */
  accepted(): void {
    this.#hasAccepted = true
  }

  /** Resolves when there is room for the first part of the work of a request, on this many bytes. */
  enter(sender: string, bytes: number): Promise<void> {
    return this.#enter(bytes, this.#mayBegin, (waiting) => this.#waiting.add(sender, bytes, waiting))
  }

  /** Resolves when there is room for a further part. */
  goOn(bytes: number): Promise<void> {
    return this.#enter(bytes, true, (waiting) => this.#continuing.push(waiting))
  }

  /** Must be called with the messages of a request before they are checked; `closed`, when they are stored or given up. */
  opened(messages: number): void {
    this.#open += messages
  }

  closed(messages: number): void {
    this.#open -= messages
    if (this.#hasWork) this.#schedule()
  }

  get #mayBegin(): boolean {
    return this.#open < MAX_OPEN
  }

  get #hasWork(): boolean {
    return this.#continuing.length > 0 || (this.#waiting.length > 0 && this.#mayBegin)
  }

  async #enter(bytes: number, mayBegin: boolean, wait: (waiting: Waiting) => void): Promise<void> {
    this.#schedule()
    // An unused turn takes work of any size, since work that is larger than a turn must run at some time.
    const isFree = mayBegin && this.#waiting.length + this.#continuing.length === 0 && !this.#hasAccepted
    if (isFree && (bytes <= this.#bytesLeft || this.#bytesLeft === BYTES_PER_TURN)) {
      this.#bytesLeft -= bytes
      return
    }
    await new Promise<void>((start) => wait({ bytes, start }))
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    this.#isScheduled = false
    this.#bytesLeft = BYTES_PER_TURN
    if (!this.#hasAccepted || !this.#isTimeToAccept()) this.#release()
    this.#hasAccepted = false
    if (this.#hasWork) this.#schedule()
  }

  #isTimeToAccept(): boolean {
    const nowMs = this.#clock.monotonic()
    if (nowMs - this.#acceptingSinceMs >= 2 * ACCEPTING_MS) this.#acceptingSinceMs = nowMs
    return nowMs - this.#acceptingSinceMs < ACCEPTING_MS
  }

  #release(): void {
    let begun = 0
    while (this.#bytesLeft > 0) {
      const mayBegin = this.#open + begun < MAX_OPEN
      const continuing = this.#continuing.shift()
      const next = continuing ?? (mayBegin ? this.#waiting.take() : undefined)
      if (next === undefined) return
      if (continuing === undefined) begun += maxMessages(next.bytes)
      this.#bytesLeft -= next.bytes
      next.start()
    }
  }
}
