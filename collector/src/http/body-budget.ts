import type { Clock } from '../clock.ts'
import { systemClock } from '../system-clock.ts'
import { HttpProblem } from './reply.ts'

const MAX_BYTES = 64 * 1024 * 1024
/** The part of the memory that one sender can fill. The rest is for others. */
const SHARE_OF_SENDER = 0.75
/** Memory for each part of a body that arrives, beside its bytes. */
const PART_BYTES = 256
const SECOND_MS = 1000
const RETRY_SECONDS = 1

/**
 * Limits the memory for all bodies, received and inflated.
 *
 * When there is no room for more bytes, the incomplete body with the least progress in the last second is cut with 408, the
 * newest first among equals, until they fit. If all other bodies are complete, the body gets 503. If only its sender has no
 * more room, only the bodies of this sender are concerned.
 */
export class BodyBudget {
  readonly #maxBytes: number
  readonly #clock: Pick<Clock, 'monotonic'>
  /** In the order of arrival. */
  readonly #incomplete = new Set<HeldBody>()
  readonly #waiting: Array<{ body: HeldBody; bytes: number; start(): void }> = []
  readonly #bytesOf = new Map<string, number>()
  #bytes = 0
  #inflated = 0

  constructor(maxBytes = MAX_BYTES, clock: Pick<Clock, 'monotonic'> = systemClock) {
    this.#maxBytes = maxBytes
    this.#clock = clock
  }

  /** @param cut Called when the body is refused; its bytes must then be dropped. */
  open(sender: string, cut: (problem: HttpProblem) => void): HeldBody {
    const body = new HeldBody(sender, cut)
    this.#incomplete.add(body)
    return body
  }

  /** Counts bytes that have arrived. Returns false if the body was cut. */
  add(body: HeldBody, bytes: number): boolean {
    const nowMs = this.#clock.monotonic()
    body.progressed(bytes, nowMs)
    const cost = bytes + PART_BYTES
    for (;;) {
      const own = (this.#bytesOf.get(body.sender) ?? 0) + cost
      const isOverShare = own > this.#maxBytes * SHARE_OF_SENDER
      if (!isOverShare && this.#bytes + cost <= this.#maxBytes) break
      const slowest = this.#slowest(body, nowMs, isOverShare)
      this.#free(slowest ?? body)
      if (slowest === undefined) body.cut(full())
      else slowest.cut(new HttpProblem(408, 'slow_body', 'the body arrives too slowly for a busy collector'))
      if (slowest === undefined || slowest === body) return false
    }
    this.#count(body, cost)
    return true
  }

  completed(body: HeldBody): void {
    this.#incomplete.delete(body)
  }

  /** Resolves when there is room to inflate a complete body. One body is inflated at any time, however large the others are. */
  async inflate(body: HeldBody, bytes: number): Promise<void> {
    if (this.#waiting.length === 0 && this.#hasRoom(bytes)) return this.#startInflating(body, bytes)
    await new Promise<void>((start) => this.#waiting.push({ body, bytes, start }))
  }

  /** Counts only the decompressed bytes after a body was inflated. */
  inflated(body: HeldBody, unusedBytes: number): void {
    this.#count(body, -unusedBytes)
    this.#startWaiting()
  }

  release(body: HeldBody): void {
    this.#free(body)
    this.#startWaiting()
  }

  #free(body: HeldBody): void {
    this.#incomplete.delete(body)
    if (body.isInflated) this.#inflated--
    this.#count(body, -body.bytes)
    body.isInflated = false
  }

  #startWaiting(): void {
    for (
      let next = this.#waiting[0];
      next !== undefined && this.#hasRoom(next.bytes);
      next = this.#waiting[0]
    ) {
      this.#waiting.shift()
      this.#startInflating(next.body, next.bytes)
      next.start()
    }
  }

  /** Leaves half of the room to bodies that arrive. */
  #hasRoom(bytes: number): boolean {
    return this.#inflated === 0 || this.#bytes + bytes <= this.#maxBytes / 2
  }

  #startInflating(body: HeldBody, bytes: number): void {
    this.#inflated++
    this.#count(body, bytes)
    body.isInflated = true
  }

  #count(body: HeldBody, bytes: number): void {
    body.bytes += bytes
    this.#bytes += bytes
    const own = (this.#bytesOf.get(body.sender) ?? 0) + bytes
    if (own > 0) this.#bytesOf.set(body.sender, own)
    else this.#bytesOf.delete(body.sender)
  }

  /** Undefined if no other body is incomplete and has bytes. */
  #slowest(arriving: HeldBody, nowMs: number, isOfSender: boolean): HeldBody | undefined {
    let slowest: HeldBody | undefined
    let least = Number.POSITIVE_INFINITY
    let isAlone = true
    for (const body of this.#incomplete) {
      if (body.bytes === 0 && body !== arriving) continue
      if (isOfSender && body.sender !== arriving.sender) continue
      isAlone &&= body === arriving
      const progress = body.progressAt(nowMs)
      if (progress > least) continue
      least = progress
      slowest = body
    }
    return isAlone ? undefined : slowest
  }
}

function full(): HttpProblem {
  return new HttpProblem(503, 'busy', 'too many bodies are in memory', {
    'retry-after': String(RETRY_SECONDS),
  })
}

/** The part of the budget that one body uses. */
export class HeldBody {
  readonly sender: string
  readonly cut: (problem: HttpProblem) => void
  bytes = 0
  isInflated = false
  #windowMs = Number.NEGATIVE_INFINITY
  #inWindow = 0
  #before = 0

  constructor(sender: string, cut: (problem: HttpProblem) => void) {
    this.sender = sender
    this.cut = cut
  }

  progressed(bytes: number, nowMs: number): void {
    const elapsedMs = nowMs - this.#windowMs
    if (elapsedMs >= SECOND_MS) {
      this.#before = elapsedMs < 2 * SECOND_MS ? this.#inWindow : 0
      this.#inWindow = 0
      this.#windowMs = nowMs
    }
    this.#inWindow += bytes
  }

  /** Bytes in the last second; estimated, if that second began in the window before. */
  progressAt(nowMs: number): number {
    const elapsedMs = nowMs - this.#windowMs
    if (elapsedMs < SECOND_MS) return this.#inWindow + this.#before * (1 - elapsedMs / SECOND_MS)
    return elapsedMs < 2 * SECOND_MS ? this.#inWindow * (2 - elapsedMs / SECOND_MS) : 0
  }
}
