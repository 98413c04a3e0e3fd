/** Limits how many functions run at the same time. Further functions wait, and start in the order of their calls. */
export class Gate {
  readonly #waiting: Array<() => void> = []
  #free: number

  constructor(places: number) {
    this.#free = places
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((enter) => this.#waiting.push(enter))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}
