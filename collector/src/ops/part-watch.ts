import type { Clock } from '../clock.ts'
import type { Listeners } from '../listeners.ts'
import type { PartHealth } from '../part-health.ts'
import type { Health } from './health.ts'

const LOOK_MS = 1000

/** Options of a watch. */
export interface PartWatchOptions extends Listeners {
  health: Pick<Health, 'parts'>
  clock: Clock
}

/** Watches the parts on other machines, and reports when one is unavailable and when it is back. */
export class PartWatch {
  readonly #options: PartWatchOptions
  readonly #unavailable = new Map<PartHealth['part'], string>()
  #cancel = () => {}
  #isClosed = false

  constructor(options: PartWatchOptions) {
    this.#options = options
  }

  /** Starts to watch. A part that was unavailable from the start has already been reported by the attempt to open it. */
  start(): void {
    void this.#look(false)
  }

  async #look(mayReport: boolean): Promise<void> {
    const parts = await this.#options.health.parts()
    if (this.#isClosed) return
    for (const part of parts) this.#see(part, mayReport)
    this.#cancel = this.#options.clock.setTimer(() => void this.#look(true), LOOK_MS)
  }

  #see({ part, isReady, reason }: PartHealth, mayReport: boolean): void {
    const { onFault, onRecovery } = this.#options
    if (isReady) {
      if (this.#unavailable.delete(part)) onRecovery(`the ${part} is back`, `the ${part} is unavailable`)
      return
    }
    // The connection to a log reports itself that the log is unavailable.
    if (mayReport && part === 'store' && !this.#unavailable.has(part))
      onFault('the store is unavailable', new Error(reason ?? 'unknown'))
    this.#unavailable.set(part, reason ?? 'unknown')
  }

  /** Records a part that became unavailable, reported from elsewhere: it may be back before the next check. */
  note(part: PartHealth['part'], reason: string): void {
    this.#unavailable.set(part, reason)
  }

  /** Why a part is unusable now; null when it works, as far as known. */
  reason(part: PartHealth['part']): string | null {
    return this.#unavailable.get(part) ?? null
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
  }
}
