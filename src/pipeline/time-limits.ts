import { type Clock, setDeadline } from '../runtime/clock.ts'

/** Longest wait for one plugin: to load, to unload, or to handle one event. */
export const PLUGIN_TIMEOUT_MS = 5_000

/** What a wait ends with when the client stops waiting. */
export class Abandoned extends Error {
  constructor() {
    super('abandoned: the client stopped waiting')
  }
}

/** Bounds every wait for a plugin, and can end all of them at once. */
export class TimeLimits {
  readonly #clock: Clock
  #endings = new Set<(reason: unknown) => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** What `work` resolves to. Rejects when it takes longer than 5 s, with {@link Abandoned} when that comes first. */
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
        // Through a promise of ours: a `then` of a plugin's may throw, call back twice, or resolve to another like it.
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
