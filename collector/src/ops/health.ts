import type { Clock } from '../clock.ts'
import { limited } from '../limited.ts'
import type { PartHealth } from '../part-health.ts'

/** Checks one part of the collector, or several parts together. */
export interface HealthSource {
  /** The part that counts as not ready if `ask` does not respond in time. */
  part: PartHealth['part']
  /** Whether the process should get no requests while the part is not ready. */
  isRequired: boolean
  ask(): Promise<PartHealth[]>
}

/** As `/readyz` returns it. */
export interface PartState extends PartHealth {
  isRequired: boolean
}

export interface Readiness {
  status: 'ready' | 'not_ready' | 'draining'
  parts: PartState[]
}

/** After this time, a part that has not responded counts as not ready. Probes wait for some seconds. */
const LIMIT_MS = 2000
/** How long a state is cached. `/readyz` is public, so its requests must not put load on the parts. */
const FRESH_MS = 500

export class Health {
  readonly #sources: readonly HealthSource[]
  readonly #clock: Clock
  /** Checks in progress. A part is not checked again before its last check has ended. */
  readonly #asked = new Map<HealthSource, Promise<PartState[]>>()
  #known: { atMs: number; parts: Promise<PartState[]> } | undefined
  #isDraining = false

  constructor(sources: readonly HealthSource[], clock: Clock) {
    this.#sources = sources
    this.#clock = clock
  }

  drain(): void {
    this.#isDraining = true
  }

  /** Never rejects, and takes two seconds at most. */
  async readiness(): Promise<Readiness> {
    const parts = await this.parts()
    const areReady = parts.every(({ isReady, isRequired }) => isReady || !isRequired)
    return { status: this.#isDraining ? 'draining' : areReady ? 'ready' : 'not_ready', parts }
  }

  /** Never rejects, and takes two seconds at most. */
  parts(): Promise<PartState[]> {
    const nowMs = this.#clock.monotonic()
    if (this.#known === undefined || nowMs - this.#known.atMs >= FRESH_MS) {
      const parts = Promise.all(this.#sources.map((source) => this.#stateOf(source)))
      this.#known = { atMs: nowMs, parts: parts.then((all) => all.flat()) }
    }
    return this.#known.parts
  }

  #stateOf(source: HealthSource): Promise<PartState[]> {
    const { part, isRequired } = source
    const silent = (reason: string): PartState[] => [{ part, isReady: false, isRequired, reason, waiting: 0 }]
    let asked = this.#asked.get(source)
    if (asked === undefined) {
      asked = ask(source)
        .catch((cause: unknown) =>
          silent(`the ${part} cannot be checked (${cause instanceof Error ? cause.message : String(cause)})`),
        )
        .finally(() => this.#asked.delete(source))
      this.#asked.set(source, asked)
    }
    return limited(asked, LIMIT_MS, this.#clock, () =>
      silent(`the ${part} does not respond (nothing within ${LIMIT_MS / 1000} s)`),
    )
  }
}

async function ask({ ask, isRequired }: HealthSource): Promise<PartState[]> {
  return (await ask()).map((state) => ({ ...state, isRequired }))
}
