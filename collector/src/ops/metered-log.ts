import type { Clock } from '../clock.ts'
import type { EventWriter } from '../log/ports.ts'
import type { NewEvent } from '../store/ports.ts'
import type { Meter } from './meter.ts'

/** Measures how long it takes to write events: clients wait for that. */
export class MeteredLog implements EventWriter {
  readonly #log: EventWriter
  readonly #meter: Meter
  readonly #clock: Clock
  readonly #isShared: boolean

  /** @param isShared Whether another process writes the events from `log` to the store. If so, the events are counted here. */
  constructor(log: EventWriter, meter: Meter, clock: Clock, isShared: boolean) {
    this.#log = log
    this.#isShared = isShared
    this.#meter = meter
    this.#clock = clock
  }

  async append(events: readonly NewEvent[]): ReturnType<EventWriter['append']> {
    const startMs = this.#clock.monotonic()
    try {
      const kept = await this.#log.append(events)
      this.#meter.appended(this.#clock.monotonic() - startMs, true)
      if (this.#isShared) for (const { reason } of events) this.#meter.logged(reason)
      return kept
    } catch (cause) {
      this.#meter.appended(this.#clock.monotonic() - startMs, false)
      throw cause
    }
  }
}
