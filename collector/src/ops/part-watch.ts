import type { Clock } from '../clock.ts'
import type { Listeners } from '../listeners.ts'
import type { PartHealth } from '../part-health.ts'
import type { Health } from './health.ts'

const LOOK_MS = 1000

export interface PartWatchOptions extends Listeners {
  health: Pick<Health, 'parts'>
  clock: Clock
}

/** Reports when the store is unavailable, and when the store or the log works again. */
export class PartWatch {
  readonly #options: PartWatchOptions
  readonly #unavailable = new Map<PartHealth['part'], string>()
  #cancel = () => {}
  #isClosed = false

  constructor(options: PartWatchOptions) {
    this.#options = options
  }

  /** Does not report a part that is unavailable from the start, because opening the part has already reported that. */
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
    // The connection to the log itself reports that the log is unavailable.
    if (mayReport && part === 'store' && !this.#unavailable.has(part))
      onFault('the store is unavailable', new Error(reason ?? 'unknown'))
    this.#unavailable.set(part, reason ?? 'unknown')
  }

  /** Records a fault that other code has noticed, so that the recovery is reported even if it comes before the next check. */
  note(part: PartHealth['part'], reason: string): void {
    this.#unavailable.set(part, reason)
  }

  /** Returns null if the part works, as far as this process knows. */
  reason(part: PartHealth['part']): string | null {
    return this.#unavailable.get(part) ?? null
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
  }
}
