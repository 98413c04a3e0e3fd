import type { RequestCounter } from '../http/request-notes.ts'

/** What a process has counted since its start. */
export interface Counted {
  /** Requests that ended. */
  requests: number
  /** Requests answered with 400 to 499. */
  refused: number
  /** Requests answered with 500 or more, and those that ended without a response. */
  failed: number
  /** Events that were kept, without repeats. */
  accepted: number
  /** Events of requests with 200 that were not accepted. */
  rejected: number
  /** Events that repeat an earlier one. */
  repeated: number
}

export class Counts implements RequestCounter {
  readonly #counted: Counted = { requests: 0, refused: 0, failed: 0, accepted: 0, rejected: 0, repeated: 0 }

  /** Status 0 means that there was no response. */
  ended(status: number): void {
    this.#counted.requests++
    if (status >= 500 || status === 0) this.#counted.failed++
    else if (status >= 400) this.#counted.refused++
  }

  recorded(reason: string | null): void {
    if (reason === null) this.#counted.accepted++
    else if (reason === 'duplicate') this.#counted.repeated++
    else this.#counted.rejected++
  }

  get state(): Counted {
    return { ...this.#counted }
  }
}

const HELP: Readonly<Record<keyof Counted, string>> = {
  requests: 'Requests that ended.',
  refused: 'Requests answered with 400 to 499.',
  failed: 'Requests answered with 500 or more, or not at all.',
  accepted: 'Events that were kept, without repeats.',
  rejected: 'Events of answered requests that were not accepted.',
  repeated: 'Events that repeat an earlier one.',
}

export interface Gauge {
  name: string
  help: string
  value: number
}

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** In the text format of Prometheus. */
export function metricsText(counted: Counted, gauges: readonly Gauge[] = []): string {
  const lines = Object.entries(counted).map(([name, value]) => ({
    name: `trackpost_collector_${['requests', 'refused', 'failed'].includes(name) ? (name === 'requests' ? name : `requests_${name}`) : `events_${name}`}_total`,
    help: HELP[name as keyof Counted],
    type: 'counter',
    value,
  }))
  return [...lines, ...gauges.map((gauge) => ({ ...gauge, type: 'gauge' }))]
    .map(
      ({ name, help, type, value }) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name} ${value}\n`,
    )
    .join('')
}
