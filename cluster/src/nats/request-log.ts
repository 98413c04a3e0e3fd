import { randomInt } from 'node:crypto'
import type { Clock, NewRequest, RequestLog } from 'trackpost-collector/ports'
import { requestIds } from 'trackpost-collector/sql'
import { encodeRequests } from '../log/codec.ts'

const MAX_WAITING = 2000
const REST_MS = 200
/** Larger than the number of times that a store is opened, so that these ids differ from those that a store issues. */
const FIRST_PROCESS = 2 ** 20

/** Drops records when too many are waiting, or when the log is unavailable. */
export class NatsRequestLog implements RequestLog {
  readonly #send: (payload: Uint8Array) => void
  readonly #maxBytes: () => number
  readonly #clock: Clock
  readonly nextId = requestIds(FIRST_PROCESS + randomInt(FIRST_PROCESS))
  #waiting: NewRequest[] = []
  #cancel: (() => void) | undefined

  constructor(send: (payload: Uint8Array) => void, maxBytes: () => number, clock: Clock) {
    this.#send = send
    this.#maxBytes = maxBytes
    this.#clock = clock
  }

  append(request: NewRequest): void {
    if (this.#waiting.length >= MAX_WAITING) return
    this.#waiting.push(request)
    this.#cancel ??= this.#clock.setTimer(() => this.flush(), REST_MS)
  }

  flush(): void {
    this.#cancel?.()
    this.#cancel = undefined
    const requests = this.#waiting
    this.#waiting = []
    for (const payload of encodeRequests(requests, this.#maxBytes())) this.#send(payload)
  }
}
