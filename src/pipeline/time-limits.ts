import { type Clock, setDeadline, soon } from '../runtime/clock.ts'

/** Longest wait for one plugin: to load, to unload, or to handle one event. */
export const PLUGIN_TIMEOUT_MS = 5_000

/** The result of a wait when the client stops waiting. */
export class Abandoned extends Error {
  constructor() {
    super('abandoned: the client stopped waiting')
  }
}

/** Limits the time of every wait for a plugin, and can end all waits at once. */
export class TimeLimits {
  readonly #clock: Clock
  #endings = new Set<(reason: unknown) => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Settles as `work` does. Rejects after 5 s, or with {@link Abandoned} when the client stops waiting. */
  bound<Value>(work: PromiseLike<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        cancel()
        this.#endings.delete(fail)
      }
      const fail = (reason: unknown): void => {
        end()
        reject(reason)
      }
      const onDeadline = (): void => fail(new Error(`it did not settle within ${PLUGIN_TIMEOUT_MS} ms`))
      const cancel = setDeadline(onDeadline, PLUGIN_TIMEOUT_MS, this.#clock)
      this.#endings.add(fail)
      try {
        // Through a promise of our own: the `then` of a plugin may throw, call back twice, or resolve to another such thenable.
        Promise.resolve(work).then((value) => {
          end()
          resolve(value)
        }, fail)
      } catch (error) {
        fail(error)
      }
    })
  }

  /** Ends every wait. */
  abandon(): void {
    const endings = this.#endings
    this.#endings = new Set()
    const reason = new Abandoned()
    for (const fail of endings) fail(reason)
  }
}

/** From this many microtasks on, a timer detects the end of the turn; fewer need no timer. */
const WATCHED_FROM = 256
/** Events tracked from more microtasks than this wait until timers and sockets have had their turn. */
const MAX_MICROTASKS = 1_024

/**
 * Events that are tracked in microtask after microtask would block timers and sockets, which run only when no microtask is
 * left. A plugin that tracks for each event would do so forever. This delays such events.
 */
export class Turns {
  readonly #clock: Clock
  /** Called at the end of a turn that was too long. */
  readonly #onNext: () => void
  /** Microtasks of this turn from which events were tracked. */
  #microtasks = 0
  #isCounted = false
  #cancelWatch: (() => void) | undefined
  readonly #endMicrotask = (): void => {
    this.#isCounted = false
  }

  constructor(clock: Clock, onNext: () => void) {
    this.#clock = clock
    this.#onNext = onNext
  }

  /** Whether this turn has taken too long for one more event. */
  isOver(): boolean {
    if (!this.#isCounted) {
      this.#isCounted = true
      soon(this.#endMicrotask)
      this.#microtasks++
      if (this.#microtasks >= WATCHED_FROM && this.#cancelWatch === undefined) this.#watch()
    }
    return this.#microtasks > MAX_MICROTASKS
  }

  /** Cancels the timer. */
  stop(): void {
    this.#cancelWatch?.()
    this.#cancelWatch = undefined
    this.#microtasks = 0
  }

  #watch(): void {
    this.#cancelWatch = this.#clock.setTimer(() => {
      const wasOver = this.#microtasks > MAX_MICROTASKS
      this.#cancelWatch = undefined
      this.#microtasks = 0
      if (wasOver) this.#onNext()
    }, 0)
  }
}
