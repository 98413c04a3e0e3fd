import type { AnalyticsEvents, WarningEvent } from '../events.ts'
import type { Context } from '../pipeline/context.ts'
import type { PluginFailure } from '../pipeline/failure.ts'
import { warn } from '../runtime/warn.ts'
import type { Emitter } from './emitter.ts'

/** Failures that cost no event: told to `warning` listeners, or as one process warning for each kind. */
export class Warnings {
  readonly #emitter: Emitter<AnalyticsEvents>
  readonly #warned = new Set<string>()

  constructor(emitter: Emitter<AnalyticsEvents>) {
    this.#emitter = emitter
  }

  /** @returns Whether anybody listens. */
  emit(code: WarningEvent['code'], reason: unknown, ctx?: Context, plugin?: string): boolean {
    if (this.#emitter.listenerCount('warning') === 0) return false
    const event: WarningEvent = { code, reason }
    if (plugin !== undefined) event.plugin = plugin
    if (ctx !== undefined) event.ctx = ctx
    this.#emitter.emit('warning', event)
    return true
  }

  /** Code of the user's failed. One process warning for each code. */
  report(code: WarningEvent['code'], reason: unknown): void {
    // The error itself may hold anything, so it is not shown.
    if (!this.emit(code, reason)) this.#warnOnce(code, 'user_code', `${code}: it failed, and was ignored`)
  }

  /** A plugin failed. One process warning for each plugin and each way to fail. */
  reportPlugin({ plugin, verb, reason, ctx }: PluginFailure): void {
    if (this.emit('plugin', reason, ctx, plugin)) return
    this.#warnOnce(`${plugin}\n${verb}`, reason.code, reason.message)
  }

  #warnOnce(key: string, code: string, text: string): void {
    if (this.#warned.has(key)) return
    this.#warned.add(key)
    warn(code, text)
  }
}
