import { describeCause } from '../errors/cause.ts'
import type { Clock } from '../runtime/clock.ts'

const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 30_000

/** A denied fsync does not count as trouble, because the data is in the files. */
export const SYNC_DENIED =
  'the permission model of Node.js denies fsync: data of the spool survives the process, but perhaps not a power cut. ' +
  "So stored() resolves to false; with sync: 'never', which promises no more than this, it resolves to true"

export interface TroubleHandlers {
  /** Tries to write again. Rejects if writing still fails. */
  attempt(): Promise<void>
  /** Called when writing works again. Must not throw. */
  onOver(): void
}

/** A period in which nothing can be written. Warns once, and retries until writing works again. */
export class Trouble {
  readonly #clock: Clock
  readonly #warn: (text: string) => void
  readonly #handlers: TroubleHandlers
  #cancel: (() => void) | undefined
  #delayMs = FIRST_RETRY_MS
  cause: unknown
  isThere = false

  constructor(clock: Clock, warn: (text: string) => void, handlers: TroubleHandlers) {
    this.#clock = clock
    this.#warn = warn
    this.#handlers = handlers
  }

  begin(error: unknown): void {
    this.cause = error
    if (this.isThere) return
    this.isThere = true
    this.#delayMs = FIRST_RETRY_MS
    this.#warn(`the spool cannot write, and events wait in memory until it can: ${describeCause(error)}`)
    this.#arm()
  }

  end(): void {
    this.isThere = false
    this.#cancel?.()
    this.#cancel = undefined
  }

  #arm(): void {
    this.#cancel = this.#clock.setTimer(() => void this.#retry(), this.#delayMs)
  }

  async #retry(): Promise<void> {
    this.#cancel = undefined
    try {
      await this.#handlers.attempt()
      if (!this.isThere) return
      this.end()
      this.#handlers.onOver()
    } catch (error) {
      this.cause = error
      // `end` was called in the meantime.
      if (!this.isThere) return
      this.#delayMs = Math.min(this.#delayMs * 2, MAX_RETRY_MS)
      this.#arm()
    }
  }
}
