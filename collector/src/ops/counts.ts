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

const HELP: Readonly<Record<keyof Counted, [name: string, help: string]>> = {
  requests: ['requests_total', 'Requests that ended.'],
  refused: ['requests_refused_total', 'Requests answered with 400 to 499.'],
  failed: ['requests_failed_total', 'Requests answered with 500 or more, or not at all.'],
  accepted: ['events_accepted_total', 'Events that were kept, without repeats.'],
  rejected: ['events_rejected_total', 'Events of answered requests that were not accepted.'],
  repeated: ['events_repeated_total', 'Events that repeat an earlier one.'],
}

export class Counts {
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

  /** In the text format of Prometheus. */
  get text(): string {
    return Object.entries(HELP)
      .map(([name, [suffix, help]]) => metric('counter', suffix, help, this.#counted[name as keyof Counted]))
      .join('')
  }
}

/** @param name Without `trackpost_collector_`. */
export function metric(type: 'counter' | 'gauge', name: string, help: string, value: number): string {
  const whole = `trackpost_collector_${name}`
  return `# HELP ${whole} ${help}\n# TYPE ${whole} ${type}\n${whole} ${value}\n`
}
