/** Work for one turn of the event loop, in bytes of JSON to parse and judge; some ten milliseconds. */
const BYTES_PER_TURN = 131_072

/** Turns in a row that are left to new connections alone. */
const MAX_ACCEPTING_TURNS = 500

interface Waiting {
  bytes: number
  start(): void
}

/**
 * Spreads the work of requests over turns of the event loop, so that nobody waits for all of it.
 *
 * Work that does not fit into the running turn waits for a later one, first come, first served. While connections come
 * in, the work waits: the runtime accepts one connection in a turn, and a thousand of them behind turns of
 * forty milliseconds would take that long to be heard at all.
 */
export class Turns {
  #waiting: Waiting[] = []
  #bytesLeft = BYTES_PER_TURN
  #isScheduled = false
  #hasAccepted = false
  #acceptingTurns = 0

  /** Tells of a new connection. */
  accepted(): void {
    this.#hasAccepted = true
  }

  /** Resolves when there is room for so much work; at once when this turn has room and nobody waits. */
  async enter(bytes: number): Promise<void> {
    this.#schedule()
    // Anything fits into an unused turn: what is larger than all of it must run some time.
    const isFree = this.#waiting.length === 0 && !this.#hasAccepted
    if (isFree && (bytes <= this.#bytesLeft || this.#bytesLeft === BYTES_PER_TURN)) {
      this.#bytesLeft -= bytes
      return
    }
    await new Promise<void>((start) => this.#waiting.push({ bytes, start }))
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
    // Once more in any case while there is work: the next turn has its own room.
    if (this.#waiting.length > 0) this.#schedule()
  }

  #release(): void {
    while (this.#bytesLeft > 0) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#bytesLeft -= next.bytes
      next.start()
    }
  }
}
