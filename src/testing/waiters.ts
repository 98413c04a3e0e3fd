// Read when the module is loaded, so that the time limit still works if a test fakes the timers later.
const { setTimeout, clearTimeout } = globalThis

interface Waiter<Message> {
  readonly isMeant: (message: Message) => boolean
  readonly resolve: (message: Message) => void
  readonly reject: (error: unknown) => void
}

/** The pending calls of `waitFor`. */
export class Waiters<Message> {
  readonly #waiters = new Set<Waiter<Message>>()

  /**
   * Resolves to the first message that matches, now or later.
   *
   * @param describe Makes the message of the error when the time is over.
   */
  wait(
    messages: readonly Message[],
    isMeant: (message: Message) => boolean,
    timeoutMs: number,
    describe: () => string,
  ): Promise<Message> {
    return new Promise((resolve, reject) => {
      // Keeps the process alive, so that a test that waits in vain gets its error.
      const timer = setTimeout(() => waiter.reject(new Error(describe())), timeoutMs)
      const end = (): void => {
        clearTimeout(timer)
        this.#waiters.delete(waiter)
      }
      const waiter: Waiter<Message> = {
        isMeant,
        resolve(message) {
          end()
          resolve(message)
        },
        reject(error) {
          end()
          reject(error)
        },
      }
      this.#waiters.add(waiter)
      this.look(messages)
    })
  }

  /** Resolves the calls whose message has come. */
  look(messages: readonly Message[]): void {
    for (const waiter of [...this.#waiters]) {
      try {
        const found = messages.find(waiter.isMeant)
        if (found !== undefined) waiter.resolve(found)
      } catch (error) {
        // If a filter throws, the error belongs to the test, not to the call that is tested.
        waiter.reject(error)
      }
    }
  }
}
