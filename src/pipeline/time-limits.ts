import { type Clock, setDeadline } from '../runtime/clock.ts'

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
