interface Entry<T> {
  item: T
  sender: string
  cost: number
  start: number
  end: number
}

/**
 * A queue in which the senders take turns by the amount of their work, so that one who sends much delays himself before others.
 * What a sender adds stays in its order.
 *
 * Start-time fair queueing (Goyal, Vin and Cheng, 1996): work starts, on a clock that counts work, where the waiting work of its
 * sender ends, or now if none waits. The earliest start comes first. The clock moves on with the work that is done, divided by
 * the senders: otherwise it would stand still for one who invents a new sender for each item, and who waits would wait for all.
 */
export class FairQueue<T> {
  /** Sorted by `start`, and by arrival among equals. */
  readonly #waiting: Entry<T>[] = []
  /** For each sender whose work waits, where this work ends. */
  readonly #ends = new Map<string, number>()
  #now = 0
  /** How far the clock moves when the work that was taken last is done. */
  #step = 0

  get length(): number {
    return this.#waiting.length
  }

  /** @param cost Any unit that is the same for all work of the queue, such as bytes. */
  add(sender: string, cost: number, item: T): void {
    const start = this.#ends.get(sender) ?? this.#now
    const end = start + cost
    this.#ends.set(sender, end)
    let [low, high] = [0, this.#waiting.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#waiting[middle] as Entry<T>).start <= start) low = middle + 1
      else high = middle
    }
    this.#waiting.splice(low, 0, { item, sender, cost, start, end })
  }

  /** The item that {@link take} would return. */
  peek(): T | undefined {
    return this.#waiting[0]?.item
  }

  take(): T | undefined {
    const entry = this.#waiting.shift()
    if (entry === undefined) return undefined
    this.#now = Math.max(this.#now + this.#step, entry.start)
    this.#step = entry.cost / this.#ends.size
    if (this.#ends.get(entry.sender) === entry.end) this.#ends.delete(entry.sender)
    return entry.item
  }
}
