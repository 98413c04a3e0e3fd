import { FairQueue } from '../fair-queue.ts'

/** Bytes of JSON that are parsed and checked in one turn of the event loop. This takes about ten milliseconds. */
const BYTES_PER_TURN = 131_072

/** Maximum number of consecutive turns that only accept connections. */
const MAX_ACCEPTING_TURNS = 500

interface Waiting {
  bytes: number
  start(): void
}

/**
 * Spreads the work of requests over turns of the event loop, so that no request has to wait for the work of all others.
 *
 * Work that does not fit into the current turn waits for a later one; the senders take turns. While clients connect, all work
 * waits. Node.js accepts one connection per turn: if each turn took forty milliseconds, the last of a thousand connections
 * would wait forty seconds.
 */
export class Turns {
  readonly #waiting = new FairQueue<Waiting>()
  /** Work that continues: it comes first, so that few requests at a time have their messages in memory. */
  readonly #continuing: Waiting[] = []
  #bytesLeft = BYTES_PER_TURN
  #isScheduled = false
  #hasAccepted = false
  #acceptingTurns = 0

  /** Must be called for each new connection. */
  accepted(): void {
    this.#hasAccepted = true
  }

  /** Resolves when there is room for the first part of the work of a request, on this many bytes. */
  enter(sender: string, bytes: number): Promise<void> {
    return this.#enter(bytes, (waiting) => this.#waiting.add(sender, bytes, waiting))
  }

  /** Resolves when there is room for a further part. */
  goOn(bytes: number): Promise<void> {
    return this.#enter(bytes, (waiting) => this.#continuing.push(waiting))
  }

  async #enter(bytes: number, wait: (waiting: Waiting) => void): Promise<void> {
    this.#schedule()
    // An unused turn takes work of any size, since work that is larger than a turn must run at some time.
    const isFree = this.#waiting.length + this.#continuing.length === 0 && !this.#hasAccepted
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
    const isAccepting = this.#hasAccepted && this.#acceptingTurns < MAX_ACCEPTING_TURNS
    this.#hasAccepted = false
    this.#acceptingTurns = isAccepting ? this.#acceptingTurns + 1 : 0
    if (!isAccepting) this.#release()
    if (this.#waiting.length + this.#continuing.length > 0) this.#schedule()
  }

  #release(): void {
    while (this.#bytesLeft > 0) {
      const next = this.#continuing.shift() ?? this.#waiting.take()
      if (next === undefined) return
      this.#bytesLeft -= next.bytes
      next.start()
    }
  }
}
