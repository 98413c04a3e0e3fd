import { type Clock, setDeadline, soon } from '../runtime/clock.ts'

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
  #endings = new Set<(reason: unknown) => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Settles like `work`, but rejects after 5 s, and with {@link Abandoned} when the client stops waiting. */
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
        // `Promise.resolve` protects against a thenable whose `then` throws, calls back twice, or resolves to a thenable.
        Promise.resolve(work).then((value) => {
          end()
          resolve(value)
        }, fail)
      } catch (error) {
        fail(error)
      }
    })
  }

  abandon(): void {
    const endings = this.#endings
    this.#endings = new Set()
    const reason = new Abandoned()
    for (const fail of endings) fail(reason)
  }
}

/** From this number of microtasks on, a timer is set to detect the end of the turn. */
const WATCHED_FROM = 256
/** If more microtasks than this track events in one turn, further events wait until timers and sockets have run. */
const MAX_MICROTASKS = 1_024

/**
 * Delays events when too many microtasks in a row track events. Timers and sockets run only when no microtask is left, so a
 * plugin that tracks an event for each event could block them forever.
 */
export class Turns {
  readonly #clock: Clock
  /** Called after a turn in which events were delayed. */
  readonly #onNext: () => void
  /** Number of microtasks of this turn in which events were tracked. */
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

  /** Counts the current microtask. Returns whether an event has to wait for the next turn. */
  isOver(): boolean {
    if (!this.#isCounted) {
      this.#isCounted = true
      soon(this.#endMicrotask)
      this.#microtasks++
      if (this.#microtasks >= WATCHED_FROM && this.#cancelWatch === undefined) this.#watch()
    }
    return this.#microtasks > MAX_MICROTASKS
  }

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
