/** Lets so many in at a time. The others wait for their turn, first come, first served. */
export class Gate {
  readonly #waiting: Array<() => void> = []
  #free: number

  constructor(places: number) {
    this.#free = places
  }

  /** Runs when there is a place, and gives it on at the end, whatever that is. */
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
