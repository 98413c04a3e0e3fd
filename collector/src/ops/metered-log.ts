import type { Clock } from '../clock.ts'
import type { EventSummary } from '../record.ts'
import type { EventGroup, EventLog, NewEvent } from '../store/ports.ts'
import type { Meter } from './meter.ts'

/** Measures how long the appends of a log take, which is what clients wait for. */
export class MeteredLog implements EventLog {
  readonly #log: EventLog
  readonly #meter: Meter
  readonly #clock: Clock

  constructor(log: EventLog, meter: Meter, clock: Clock) {
    this.#log = log
    this.#meter = meter
    this.#clock = clock
  }

  append(events: readonly NewEvent[]): Promise<EventSummary[]> {
    return this.#measure(() => this.#log.append(events))
  }

  appendOnce(groups: readonly EventGroup[]): Promise<void> {
    return this.#measure(() => this.#log.appendOnce(groups))
  }

  async #measure<Result>(append: () => Promise<Result>): Promise<Result> {
    const startMs = this.#clock.monotonic()
    try {
      const result = await append()
      this.#meter.appended(this.#clock.monotonic() - startMs, true)
      return result
    } catch (cause) {
      this.#meter.appended(this.#clock.monotonic() - startMs, false)
      throw cause
    }
  }
}
