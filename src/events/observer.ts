import type { RequestFacts, RequestInfo, RequestObserver, ResponseInfo } from '../delivery/facts.ts'
import type { DeliveryError, FailureCode } from '../errors/errors.ts'
import { guard } from '../errors/guard.ts'
import { describeThrown } from '../errors/thrown.ts'
import { DELIVERED, type Verdict } from '../http/verdict.ts'
import type { Context } from '../pipeline/context.ts'
import type { PluginFailure } from '../pipeline/handler-result.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { type Emitter, emit, type Listeners } from './emitter.ts'
import type { AnalyticsEvents, WarningEvent } from './events.ts'

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

/** Every fact that a user may want to know is told here, once: to listeners, to the log and to `status`. */
export class Observer implements RequestObserver {
  readonly #client: Emitter<AnalyticsEvents>
  readonly #listeners: Listeners<AnalyticsEvents>
  readonly #log: Log
  readonly #clock: Clock
  /** What was told already, and is not told again. */
  readonly #told: Set<string>
  #lastDeliveredAtMs: number | undefined
  #lastErrorAtMs = 0
  #lastError: Verdict | DeliveryError | undefined

  constructor(
    client: Emitter<AnalyticsEvents>,
    listeners: Listeners<AnalyticsEvents>,
    log: Log,
    clock: Clock,
    told = new Set<string>(),
  ) {
    this.#client = client
    this.#listeners = listeners
    this.#log = log
    this.#clock = clock
    this.#told = told
  }

  get lastDeliveredAt(): Date | undefined {
    return this.#lastDeliveredAtMs === undefined ? undefined : new Date(this.#lastDeliveredAtMs)
  }

  get lastError(): LastError | undefined {
    const last = this.#lastError
    if (last === undefined) return undefined
    const at = new Date(this.#lastErrorAtMs)
    const { message, status, code } = 'word' in last ? { ...last.error, message: last.error.message } : last
    const facts = { at, message, ...(status !== undefined && { status }) }
    return 'word' in last ? facts : { ...facts, code: code as FailureCode }
  }

  get wantsBodies(): boolean {
    return this.#listeners.has('http_response')
  }

  onRequest(request: RequestFacts, toInfo: () => RequestInfo): void {
    if (this.#listeners.has('http_request')) emit(this.#client, 'http_request', toInfo())
    if (this.#log.isVerbose) this.#log.note('debug', 'request', request)
  }

  onResponse(
    request: RequestFacts,
    startedMs: number,
    verdict: Verdict,
    status: number | undefined,
    toInfo: (() => ResponseInfo) | undefined,
  ): void {
    if (toInfo !== undefined && this.wantsBodies) emit(this.#client, 'http_response', toInfo())
    if (verdict === DELIVERED) this.#lastDeliveredAtMs = this.#clock.now()
    else this.#keep(verdict)
    if (!this.#log.isVerbose) return
    const durationMs = this.#clock.monotonic() - startedMs
    const problem = verdict === DELIVERED ? undefined : verdict.error.message
    this.#log.note('debug', 'response', { ...request, status, durationMs, problem })
  }

  onWebPage(url: string, status: number): void {
    if (this.#hasTold('html_response')) return
    this.#log.warn(
      'html_response',
      `${url} responded with status ${status} and a web page. The events count as delivered, but no tracking API ` +
        'responds like that; check the setting host.',
    )
  }

  onUnsent(verdict: Verdict): void {
    this.#keep(verdict)
  }

  onPause(waitMs: number): void {
    if (this.#log.isVerbose)
      this.#log.note('info', `no request is sent for ${Math.ceil(waitMs)} ms`, { waitMs })
  }

  /** An event was lost. An event that the journal keeps for the next start is not lost. */
  onLoss(error: DeliveryError): void {
    if (error.code !== 'deferred') this.#keep(error)
  }

  /** An event without a callback was lost, and there is no `error` listener. Logged once for each code. */
  onUnheardLoss({ code, message }: DeliveryError): void {
    if (this.#hasTold(`loss ${code}`)) return
    this.#log.loss(
      code,
      `an event was not delivered: ${message} (${code}). Further ones are counted in ` +
        `analytics.stats.failures.${code}; analytics.on('error', ...) gets each of them.`,
    )
  }

  /** The service fails, refuses the settings, or has recovered. Logged each time, because someone may have to act. */
  onOutage(text: string): void {
    this.#warn({ code: 'outage', reason: new Error(text) }, 'outage', () => text)
  }

  onJournal(text: string): void {
    this.#warn({ code: 'spool', reason: new Error(text) }, 'spool', () => text, 'spool')
  }

  onPluginFailure({ plugin, verb, reason, ctx }: PluginFailure): void {
    this.#warn({ code: 'plugin', reason, plugin, ctx }, 'plugin', () => reason.message, `${plugin}\n${verb}`)
  }

  onUserError(code: WarningEvent['code'], reason: unknown, ctx?: Context): void {
    // The log redacts the secrets of the client.
    const text = (): string =>
      `${code}: it failed, and was ignored, as further ones will be: ${describeThrown(reason, (one) => one)}`
    this.#warn({ code, reason, ctx }, 'user_code', text, code)
  }

  /** The failure of a `warning` listener is never told to `warning` listeners. */
  onListenerError(reason: unknown, name: keyof AnalyticsEvents): void {
    if (name !== 'warning') return this.onUserError('listener', reason)
    const why = describeThrown(reason, (one) => one)
    if (!this.#hasTold('listener')) this.#log.warn('user_code', `a warning listener failed: ${why}`)
  }

  /** Code of the user returned something unusable. `text` is of this library: it names types, never values. */
  onMisuse(code: WarningEvent['code'], text: string): void {
    this.#warn({ code, reason: new TypeError(text) }, 'user_code', () => text, text)
  }

  /** Told to no listener. */
  tellOnce(code: string, text: string): void {
    if (!this.#hasTold(code)) this.#log.warn(code, text)
  }

  guard(code: WarningEvent['code'], run: () => unknown): void {
    guard(run, (reason) => this.onUserError(code, reason))
  }

  /** @param key Where nobody listens, it is logged once for each key; without a key, each time. */
  #warn(
    { ctx, ...event }: Omit<WarningEvent, 'ctx'> & { ctx?: Context | undefined },
    logCode: string,
    text: () => string,
    key?: string,
  ): void {
    if (this.#listeners.has('warning'))
      emit(this.#client, 'warning', ctx === undefined ? event : { ...event, ctx })
    else if (key === undefined || !this.#hasTold(key)) this.#log.warn(logCode, text())
  }

  #hasTold(key: string): boolean {
    if (this.#told.has(key)) return true
    this.#told.add(key)
    return false
  }

  #keep(error: Verdict | DeliveryError): void {
    this.#lastErrorAtMs = this.#clock.now()
    this.#lastError = error
  }
}
