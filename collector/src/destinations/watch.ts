import type { Clock } from '../clock.ts'
import type { DestinationConfig } from '../config/schema.ts'
import type { DeliveryQueue, NewEvent } from '../store/ports.ts'

/** Interval at which this process announces the destinations to which it delivers. */
const ATTEND_MS = 20_000
/** A process that has made no announcement for this long counts as ended. */
const ATTENDED_MS = 60_000
/** How long a destination has a warning after an event that was not planned for it. */
const UNPLANNED_MS = 60_000

export interface WatchParts {
  destinations: readonly DestinationConfig[]
  isDelivering: boolean
  queue: Pick<DeliveryQueue, 'attend' | 'unattended'>
  clock: Clock
  onFault(what: string, cause: unknown): void
}

/**
 * Finds destinations that are only in the configuration of some processes. If only processes that accept events (fronts) know a
 * destination, its deliveries stay pending. If only processes that deliver events (workers) know it, it gets no deliveries.
 */
export class DestinationWatch {
  readonly #parts: WatchParts
  /** Names of the destinations to which this process delivers. */
  readonly #attended: readonly string[]
  /** Destinations that are disabled in the configuration. Their pending deliveries are not reported. */
  readonly #disabled: ReadonlySet<string>
  readonly #reported = new Set<string>()
  /** For each destination, the time of the last event that a front neither planned nor skipped for it. */
  readonly #unplanned = new Map<string, number>()
  #cancel = () => {}
  #isClosed = false

  constructor(parts: WatchParts) {
    const { destinations, isDelivering } = parts
    this.#parts = parts
    this.#attended = destinations.filter(({ enabled }) => enabled && isDelivering).map(({ name }) => name)
    this.#disabled = new Set(destinations.filter(({ enabled }) => !enabled).map(({ name }) => name))
  }

  start(): void {
    void this.#attend().then(() => this.#later())
  }

  #later(): void {
    if (this.#isClosed) return
    this.#cancel = this.#parts.clock.setTimer(() => {
      void this.#attend()
        .then(() => this.#report())
        .then(() => this.#later())
    }, ATTEND_MS)
  }

  async #attend(): Promise<void> {
    if (this.#attended.length === 0) return
    // If the store is unavailable, the code that writes events reports this.
    await this.#parts.queue.attend(this.#attended).catch(() => {})
  }

  /** Reports each destination to which no process delivers, unless the last check found it too. */
  async #report(): Promise<void> {
    const found = await this.unattended().catch(() => undefined)
    if (found === undefined || this.#isClosed) return
    for (const [name, pending] of found) {
      if (!this.#reported.has(name))
        this.#parts.onFault(`destination ${name}`, new Error(unattendedText(pending)))
    }
    this.#reported.clear()
    for (const name of found.keys()) this.#reported.add(name)
  }

  /** Returns the number of pending deliveries of each destination to which no running process delivers. */
  async unattended(): Promise<Map<string, number>> {
    const found = await this.#parts.queue.unattended(ATTENDED_MS)
    const others = found.filter(
      ({ destination }) => !this.#disabled.has(destination) && !this.#attended.includes(destination),
    )
    return new Map(others.map(({ destination, pending }) => [destination, pending]))
  }

  /** Reports destinations of this process for which another process has not planned the events of one request. */
  planned(events: readonly NewEvent[]): void {
    const accepted = events.find(({ reason }) => reason === null)
    if (accepted === undefined) return
    const { clock, onFault } = this.#parts
    for (const name of this.#attended) {
      if (accepted.deliveries.some(({ destination }) => destination === name)) continue
      if (!this.#isUnplanned(name)) onFault(`destination ${name}`, new Error(UNPLANNED))
      this.#unplanned.set(name, clock.monotonic())
    }
  }

  /** Describes the fault of a destination in one sentence; null if no fault is known. */
  warning(name: string, unattended: ReadonlyMap<string, number>): string | null {
    const pending = unattended.get(name)
    if (pending !== undefined) return unattendedText(pending)
    return this.#isUnplanned(name) ? UNPLANNED : null
  }

  #isUnplanned(name: string): boolean {
    const unplannedAtMs = this.#unplanned.get(name) ?? Number.NEGATIVE_INFINITY
    return this.#parts.clock.monotonic() - unplannedAtMs < UNPLANNED_MS
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
  }
}

const UNPLANNED =
  'events come from a front that does not know it, and are not delivered to it: name it in the config of every front'

function unattendedText(pending: number): string {
  const deliveries = pending === 1 ? '1 delivery is' : `${pending} deliveries are`
  return `${deliveries} pending, and no running process delivers to it: name it in the config of a process that delivers`
}
