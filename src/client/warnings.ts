import type { DeliveryError } from '../errors/errors.ts'
import { guard } from '../errors/guard.ts'
import { describeThrown } from '../errors/thrown.ts'
import type { Context } from '../pipeline/context.ts'
import type { PluginFailure } from '../pipeline/handler-result.ts'
import type { Log } from '../runtime/log.ts'
import { type Emitter, emit, type Listeners } from './emitter.ts'
import type { AnalyticsEvents, WarningEvent } from './events.ts'

/** Reports failures to `warning` listeners. Without a listener, most kinds are reported to the log, once each. */
export class Warnings {
  readonly #emitter: Emitter<AnalyticsEvents>
  readonly #listeners: Listeners<AnalyticsEvents>
  readonly #log: Log
  readonly #warned: Set<string>

  /** @param warned What was told already, and is not told again. */
  constructor(
    emitter: Emitter<AnalyticsEvents>,
    listeners: Listeners<AnalyticsEvents>,
    log: Log,
    warned = new Set<string>(),
  ) {
    this.#warned = warned
    this.#emitter = emitter
    this.#listeners = listeners
    this.#log = log
  }

  /** Runs code of the user whose failure costs no event. */
  guard(code: WarningEvent['code'], run: () => unknown): void {
    guard(run, (reason) => this.report(code, reason))
  }

  /** Whether this was told before; from now on, it was. */
  hasTold(key: string): boolean {
    if (this.#warned.has(key)) return true
    this.#warned.add(key)
    return false
  }

  /** Logged once for each code. */
  tellOnce(code: string, text: string): void {
    this.#warnOnce(code, code, text)
  }

  /** @returns Whether there is a listener. */
  emit(code: WarningEvent['code'], reason: unknown, ctx?: Context, plugin?: string): boolean {
    if (!this.#listeners.has('warning')) return false
    const event: WarningEvent = { code, reason }
    if (plugin !== undefined) event.plugin = plugin
    if (ctx !== undefined) event.ctx = ctx
    emit(this.#emitter, 'warning', event)
    return true
  }

  /** User code failed. Logged once for each code. */
  report(code: WarningEvent['code'], reason: unknown, ctx?: Context): void {
    if (!this.emit(code, reason, ctx)) this.#warnOfCode(code, reason)
  }

  /** The failure of a `warning` listener is never reported to `warning` listeners. */
  reportListener(reason: unknown, name: keyof AnalyticsEvents): void {
    if (name === 'warning') this.#warnOfCode('listener', reason)
    else this.report('listener', reason)
  }

  /**
   * User code returned something unusable. Logged once for each text.
   *
   * @param text A text of this library: it names types, never values.
   */
  reportMisuse(code: WarningEvent['code'], text: string): void {
    if (!this.emit(code, new TypeError(text))) this.#warnOnce(text, 'user_code', text)
  }

  /** Logged once. */
  reportSpool(text: string): void {
    if (!this.emit('spool', new Error(text))) this.#warnOnce('spool', 'spool', text)
  }

  /** The service fails, refuses the settings, or has recovered. Logged each time, because someone may have to act. */
  reportOutage(text: string): void {
    if (!this.emit('outage', new Error(text))) this.#log.warn('outage', text)
  }

  /** Logged once for each plugin and kind of failure. */
  reportPlugin({ plugin, verb, reason, ctx }: PluginFailure): void {
    if (this.emit('plugin', reason, ctx, plugin)) return
    this.#warnOnce(`${plugin}\n${verb}`, reason.code, reason.message)
  }

  /** An event without a callback was lost, and there is no `error` listener. Logged once for each code. */
  reportLoss({ code, message }: DeliveryError): void {
    if (this.hasTold(`loss ${code}`)) return
    this.#log.loss(
      code,
      `an event was not delivered: ${message} (${code}). Further ones are counted in ` +
        `analytics.stats.failures.${code}; analytics.on('error', ...) gets each of them.`,
    )
  }

  #warnOfCode(code: string, reason: unknown): void {
    // The log redacts the secrets of the client.
    const why = describeThrown(reason, (text) => text)
    this.#warnOnce(code, 'user_code', `${code}: it failed, and was ignored, as further ones will be: ${why}`)
  }

  #warnOnce(key: string, code: string, text: string): void {
    if (!this.hasTold(key)) this.#log.warn(code, text)
  }
}
