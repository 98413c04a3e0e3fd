import type { Clock } from '../clock.ts'
import type { EventSink } from '../log/ports.ts'
import type { NewEvent } from '../store/ports.ts'
import type { Meter } from './meter.ts'

/** Measures how long the appends of a log take, which is what clients wait for. */
export class MeteredLog implements EventSink {
  readonly #log: EventSink
  readonly #meter: Meter
  readonly #clock: Clock

  constructor(log: EventSink, meter: Meter, clock: Clock) {
    this.#log = log
    this.#meter = meter
    this.#clock = clock
  }

  append(events: readonly NewEvent[]): ReturnType<EventSink['append']> {
    return this.#measure(() => this.#log.append(events))
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
