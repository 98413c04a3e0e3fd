import type { Clock } from '../clock.ts'
import type { Listeners } from '../listeners.ts'
import type { PartHealth } from '../store/part-health.ts'
import type { Health } from './health.ts'

const LOOK_MS = 1000

/** Options of a watch. */
export interface PartWatchOptions extends Listeners {
  health: Pick<Health, 'parts'>
  clock: Clock
}

/** Follows the parts that lie on other machines, and tells when one is away and when it is back. */
export class PartWatch {
  readonly #options: PartWatchOptions
  readonly #away = new Map<PartHealth['part'], string>()
  #cancel = () => {}
  #isClosed = false

  constructor(options: PartWatchOptions) {
    this.#options = options
  }

  /** Begins to look. What is away from the start was told by what has tried to open it. */
  start(): void {
    void this.#look(false)
  }

  async #look(isTold: boolean): Promise<void> {
    const parts = await this.#options.health.parts()
    if (this.#isClosed) return
    for (const part of parts) this.#see(part, isTold)
    this.#cancel = this.#options.clock.setTimer(() => void this.#look(true), LOOK_MS)
  }

  #see({ part, isReady, reason }: PartHealth, isTold: boolean): void {
    const { onFault, onRecovery } = this.#options
    if (isReady) {
      if (this.#away.delete(part)) onRecovery(`the ${part} is back`, `the ${part} is away`)
      return
    }
    // The connection to a log tells of that itself.
    if (isTold && part === 'store' && !this.#away.has(part))
      onFault('the store is away', new Error(reason ?? 'unknown'))
    this.#away.set(part, reason ?? 'unknown')
  }

  /** Takes note of a part that went away, as somebody else has told: it may be back before the next look. */
  note(part: PartHealth['part'], reason: string): void {
    this.#away.set(part, reason)
  }

  /** Why a part cannot be used now; null when it can, as far as is known. */
  reason(part: PartHealth['part']): string | null {
    return this.#away.get(part) ?? null
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
  }
}
