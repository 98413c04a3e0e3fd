/** So many successes in a row let the bound grow. */
const SUCCESSES_TO_GROW = 20
/** By so much of itself. */
const GROWTH = 0.1

/**
 * Bound on the messages of one request, as far as the service's 413s have shown. A 413 may come from a proxy that is
 * replaced the next day, so the bound grows back.
 *
 * @see docs/spec.md, section 8
 */
export class BodyLimit {
  readonly #maxBytes: number
  #bytes: number
  #successes = 0

  /** @param maxBytes What a request may hold when no 413 says otherwise. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#bytes = maxBytes
  }

  /** UTF-8 bytes of the messages and the commas between them. */
  get bytes(): number {
    return this.#bytes
  }

  /** Messages of so many bytes were too large: later requests hold half of that. */
  shrink(refusedBytes: number): void {
    this.#bytes = Math.min(this.#bytes, Math.floor(refusedBytes / 2))
    this.#successes = 0
  }

  /** What was refused was one event's fault: the bound is again what it was before. */
  restore(bytes: number): void {
    this.#bytes = Math.max(this.#bytes, bytes)
  }

  /** A request was taken. */
  succeed(): void {
    if (this.#bytes === this.#maxBytes || ++this.#successes < SUCCESSES_TO_GROW) return
    this.#successes = 0
    this.#bytes = Math.min(this.#maxBytes, this.#bytes + Math.ceil(this.#bytes * GROWTH))
  }
}
