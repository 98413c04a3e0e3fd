import type {
  OnEnd,
  OutageObserver,
  RequestFacts,
  RequestInfo,
  RequestObserver,
} from '../delivery/observer.ts'
import type { DeliveryError, FailureCode } from '../errors/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { type Emitter, emit, type Listeners } from './emitter.ts'
import type { AnalyticsEvents } from './events.ts'
import type { Warnings } from './warnings.ts'

/** The last error of a client. */
export interface LastError {
  /** When the error occurred. */
  readonly at: Date
  /** The error in words, without credentials. */
  readonly message: string
  /** The HTTP status; absent when there was no response. */
  readonly status?: number
  /** The code with which an event failed; absent when the events are sent again. */
  readonly code?: FailureCode
}

/** Informs the logger, `status` and the request listeners. Never throws. */
export class Monitor implements RequestObserver, OutageObserver {
  readonly #client: Emitter<AnalyticsEvents>
  readonly #listeners: Listeners<AnalyticsEvents>
  readonly #log: Log
  readonly #clock: Clock
  readonly #warnings: Warnings
  readonly #countPending: () => number
  #lastDeliveredAtMs: number | undefined
  #isOutageReported = false
  #last: { atMs: number; error: () => Omit<LastError, 'at'> } | undefined

  constructor(
    client: Emitter<AnalyticsEvents>,
    listeners: Listeners<AnalyticsEvents>,
    log: Log,
    clock: Clock,
    warnings: Warnings,
    countPending: () => number,
  ) {
    this.#warnings = warnings
    this.#countPending = countPending
    this.#client = client
    this.#listeners = listeners
    this.#log = log
    this.#clock = clock
  }

  get lastDeliveredAt(): Date | undefined {
    return this.#lastDeliveredAtMs === undefined ? undefined : new Date(this.#lastDeliveredAtMs)
  }

  get lastError(): LastError | undefined {
    return this.#last === undefined ? undefined : { at: new Date(this.#last.atMs), ...this.#last.error() }
  }

  get wantsBodies(): boolean {
    return this.#listeners.has('http_response')
  }

  onStart(request: RequestFacts, toInfo: () => RequestInfo): OnEnd {
    const client = this.#client
    const log = this.#log
    if (this.#listeners.has('http_request')) emit(client, 'http_request', toInfo())
    const startedAtMs = log.isVerbose ? this.#clock.monotonic() : undefined
    if (log.isVerbose) log.note('debug', 'request', request)
    return (status, describe, toInfo) => {
      if (toInfo !== undefined && this.wantsBodies) emit(client, 'http_response', toInfo())
      if (describe === undefined) {
        this.#lastDeliveredAtMs = this.#clock.now()
        this.#isOutageReported = false
      } else this.#keep(() => ({ message: describe(), ...(status !== undefined && { status }) }))
      if (startedAtMs === undefined) return
      const durationMs = this.#clock.monotonic() - startedAtMs
      log.note('debug', 'response', { ...request, status, durationMs, problem: describe?.() })
    }
  }

  /** A request could not be sent for want of a token. */
  onUnsent({ message, status }: DeliveryError): void {
    this.#keep(() => ({ message, ...(status !== undefined && { status }) }))
  }

  onPause(waitMs: number): void {
    if (this.#log.isVerbose)
      this.#log.note('info', `no request is sent for ${Math.ceil(waitMs)} ms`, { waitMs })
  }

  onOutage(durationMs: number, problem: string): void {
    if (this.#isOutageReported) return
    this.#isOutageReported = true
    const since = new Date(this.#clock.now() - durationMs).toISOString()
    this.#warnings.reportOutage(
      `the service has taken no request since ${since} (${problem}). Events that wait: ${this.#countPending()}.`,
    )
  }

  onRefusal(problem: string): void {
    this.#warnings.reportOutage(
      `the service refuses the address or the credentials (${problem}). Events that wait: ${this.#countPending()}.`,
    )
  }

  onRecovery(durationMs: number): void {
    this.#warnings.reportOutage(
      `the service takes requests again after ${Math.round(durationMs / 1_000)} s. Events that wait: ${this.#countPending()}.`,
    )
  }

  noteLoss({ code, message, status }: DeliveryError): void {
    // An event that the spool keeps for the next start is not an error.
    if (code !== 'deferred') this.#keep(() => ({ code, message, ...(status !== undefined && { status }) }))
  }

  #keep(error: () => Omit<LastError, 'at'>): void {
    this.#last = { atMs: this.#clock.now(), error }
  }
}

/** The state of a client at this instant: for health checks, dashboards and metrics. */
export interface Status {
  /** Events that wait to be sent or to be sent again, without events in flight and inside plugins. */
  readonly queued: number
  /** Bytes of the JSON of the queued events, without events that are only in the spool. */
  readonly queuedBytes: number
  /** Requests under way. A batch that waits for an access token counts as one. */
  readonly inFlight: number
  /** No request is sent before this time, because of an outage or a rate limit; `undefined` when requests are not held back. */
  readonly pausedUntil: Date | undefined
  /** The last error, no matter how long ago; `undefined` when there was none. */
  readonly lastError: LastError | undefined
  /** When the service last accepted a request; `undefined` before the first time. */
  readonly lastDeliveredAt: Date | undefined
  /** The URL to which batches are sent. */
  readonly url: string
}
