/** Successes that it takes to let the bound grow once. */
const SUCCESSES_TO_GROW = 20
/** By this share of itself. */
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

  /** A request with this many bytes of messages was too large: later ones hold half of that. */
  shrink(refusedBytes: number): void {
    this.#bytes = Math.min(this.#bytes, Math.floor(refusedBytes / 2))
    this.#successes = 0
  }

  /** The refusal was one event's fault: the bound returns to what it was before. */
  restore(bytes: number): void {
    this.#bytes = Math.max(this.#bytes, bytes)
  }

  /** A request was accepted. */
  succeed(): void {
    if (this.#bytes === this.#maxBytes || ++this.#successes < SUCCESSES_TO_GROW) return
    this.#successes = 0
    this.#bytes = Math.min(this.#maxBytes, this.#bytes + Math.ceil(this.#bytes * GROWTH))
  }
}
