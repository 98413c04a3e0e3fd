// Taken when the module is loaded: a test that fakes the timers later is still told that nothing came.
const { setTimeout, clearTimeout } = globalThis

interface Waiter<Message> {
  readonly isMeant: (message: Message) => boolean
  readonly resolve: (message: Message) => void
  readonly reject: (error: unknown) => void
}

/** Those who wait for a message. */
export class Waiters<Message> {
  readonly #waiters = new Set<Waiter<Message>>()

  /**
   * Resolves to the first message that is meant, now or later.
   *
   * @param describe What the error says at the end of the time.
   */
  wait(
    messages: readonly Message[],
    isMeant: (message: Message) => boolean,
    timeoutMs: number,
    describe: () => string,
  ): Promise<Message> {
    return new Promise((resolve, reject) => {
      // It holds the process: a test that waits in vain is to hear why.
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

  /** Looks whether what somebody waits for is there. */
  look(messages: readonly Message[]): void {
    for (const waiter of [...this.#waiters]) {
      try {
        const found = messages.find(waiter.isMeant)
        if (found !== undefined) waiter.resolve(found)
      } catch (error) {
        // A filter that throws is the test's mistake, and must not throw into the call that is tested.
        waiter.reject(error)
      }
    }
  }
}
