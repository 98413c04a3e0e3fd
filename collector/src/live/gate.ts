/** Limits how many functions run at a time. The others wait, first come, first served. */
export class Gate {
  readonly #waiting: Array<() => void> = []
  #free: number

  constructor(places: number) {
    this.#free = places
  }

  /** Runs a function when there is a place, and frees the place at the end, also after an error. */
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
