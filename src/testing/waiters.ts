// The timers are read when the module is loaded, so that the time limit still works if a test fakes timers later.
const { setTimeout, clearTimeout } = globalThis

export class Waiters<Message> {
  readonly #looks = new Set<() => void>()

  /** Resolves to the first message that matches, which may already be there. `describe` makes the error message for the timeout. */
  wait(
    messages: readonly Message[],
    isMeant: (message: Message) => boolean,
    timeoutMs: number,
    describe: () => string,
  ): Promise<Message> {
    return new Promise<Message>((resolve, reject) => {
      const look = (): void => {
        try {
          const found = messages.find(isMeant)
          if (found !== undefined) end(() => resolve(found))
        } catch (error) {
          // If a filter throws, the error goes to the test that waits, and not to the code under test.
          end(() => reject(error))
        }
      }
      // The timer keeps the process alive, so that the test gets its error.
      const timer = setTimeout(() => end(() => reject(new Error(describe()))), timeoutMs)
      const end = (settle: () => void): void => {
        clearTimeout(timer)
        this.#looks.delete(look)
        settle()
      }
      this.#looks.add(look)
      look()
    })
  }

  look(): void {
    for (const look of [...this.#looks]) look()
  }
}
