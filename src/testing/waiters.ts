// The timers are read when the module is loaded, so that the time limit still works if a test fakes timers later.
const { setTimeout, clearTimeout } = globalThis

interface Waiter<Message> {
  readonly isMeant: (message: Message) => boolean
  readonly resolve: (message: Message) => void
  readonly reject: (error: unknown) => void
}

export class Waiters<Message> {
  readonly #waiters = new Set<Waiter<Message>>()

  /** Resolves to the first message that matches, which may already be there. `describe` makes the error message for the timeout. */
  wait(
    messages: readonly Message[],
    isMeant: (message: Message) => boolean,
    timeoutMs: number,
    describe: () => string,
  ): Promise<Message> {
    return new Promise((resolve, reject) => {
      // The timer keeps the process alive, so that the test gets its error.
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

  look(messages: readonly Message[]): void {
    for (const waiter of [...this.#waiters]) {
      try {
        const found = messages.find(waiter.isMeant)
        if (found !== undefined) waiter.resolve(found)
      } catch (error) {
        // If a filter throws, the error goes to the test that waits, and not to the code under test.
        waiter.reject(error)
      }
    }
  }
}
