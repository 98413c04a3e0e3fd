import { type Clock, within } from '../runtime/clock.ts'

/** Time limit for a plugin to load, to unload, or to handle one event. */
export const PLUGIN_TIMEOUT_MS = 5_000

/** The error of a wait that {@link TimeLimits.abandon} has ended. */
export class Abandoned extends Error {
  constructor() {
    super('abandoned: the client stopped waiting')
  }
}

export class TimeLimits {
  readonly #clock: Clock
  readonly #endings = new Set<(reason: Error) => void>()
  #isClosed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Settles like `work`, but rejects after 5 s, and with {@link Abandoned} when the client stops waiting. */
  bound<Value>(work: PromiseLike<Value>): Promise<Value> {
    const { result, cancel } = within(work, PLUGIN_TIMEOUT_MS, this.#clock, 'it')
    const forget = (): void => void this.#endings.delete(cancel)
    this.#endings.add(cancel)
    if (this.#isClosed) this.abandon()
    result.then(forget, forget)
    return result
  }

  /** From now on, nothing is waited for. */
  abandon(): void {
    this.#isClosed = true
    const reason = new Abandoned()
    for (const end of this.#endings) end(reason)
    this.#endings.clear()
  }
}
