import { SettingsError } from '../errors/errors.ts'
import { isThenable } from '../errors/guard.ts'
import { Context } from './context.ts'
import { pluginFailure, type Report } from './handler-result.ts'
import type { Plugin, PluginHost } from './plugin.ts'
import { createRegistration, type Registration } from './registration.ts'
import type { TimeLimits } from './time-limits.ts'

export interface PluginLoaderOptions {
  readonly limits: TimeLimits
  readonly client: PluginHost
  readonly report: Report
  /** Called when a plugin was added, loaded or removed. */
  readonly onChange: () => void
  /** Called when every plugin for which events wait has loaded or failed. */
  readonly onReady: () => void
  /** Calls code of a plugin. */
  readonly call: <Result>(run: () => Result) => Result
}

/** Loads, keeps and unloads plugins. */
export class PluginLoader {
  readonly #options: PluginLoaderOptions
  #registrations: readonly Registration[] = []
  /** Plugins that are loading and for which all events wait. */
  readonly #loadingCritical = new Set<Registration>()

  constructor(options: PluginLoaderOptions) {
    this.#options = options
  }

  /** The plugins in the order of their registration, without plugins that failed to load. */
  get registrations(): readonly Registration[] {
    return this.#registrations.filter(({ state }) => state !== 'failed')
  }

  /** Whether events have to wait for a plugin. */
  get isLoading(): boolean {
    return this.#loadingCritical.size > 0
  }

  /** The name of a plugin with `onLoadFailure: 'drop'` that failed to load, so that all events fail. */
  get missing(): string | undefined {
    return this.#registrations.find(({ state }) => state === 'failed')?.name
  }

  /**
   * Resolves when the plugin has loaded or failed to load.
   *
   * @param onLoad Called when it has loaded, before any of its handlers, perhaps within this call.
   * @throws SettingsError when `plugin` is not a plugin, or its name is taken.
   */
  register(plugin: Plugin, onLoad: (name: string) => void): Promise<void> {
    const added = createRegistration(plugin)
    const namesake = this.#find(added.name)
    if (namesake !== undefined && namesake.state !== 'failed') {
      throw new SettingsError('plugin', `there is one named '${added.name}' already`)
    }
    // A plugin that failed to load may be registered again.
    this.#change([...this.#registrations.filter((one) => one !== namesake), added])
    // Set before `load` is called, so that events that `load` tracks wait too.
    if (added.type !== 'destination' && added.type !== 'utility') this.#loadingCritical.add(added)
    const loading = this.#load(added, onLoad)
    if (loading === undefined) {
      this.#endLoading(added)
      return Promise.resolve()
    }
    added.loading = loading.then(() => {
      added.loading = undefined
      this.#endLoading(added)
    })
    return added.loading
  }

  /**
   * Removes a plugin when the turn is over: it handles the events of the turn, and those that have entered it.
   *
   * @param turnIsOver Resolves when the events of the turn have entered their plugins.
   * @returns Whether there was such a plugin. Resolves when no event is inside it, and it has unloaded.
   */
  async deregister(name: string, turnIsOver: Promise<void>): Promise<boolean> {
    const removed = this.#find(name)
    if (removed === undefined) return false
    removed.isLeaving = true
    const wasFailed = removed.state === 'failed'
    if (!wasFailed) await turnIsOver
    this.#change(this.#registrations.filter((one) => one !== removed))
    if (wasFailed) return true
    // Events that have entered it wait for its load, and need it.
    await removed.loading
    if (removed.inside > 0) {
      await new Promise<void>((resolve) => {
        removed.onEmpty = resolve
      })
    }
    removed.state = 'removed'
    await this.#unload(removed)
    return true
  }

  /** A plugin that is being removed has given its name up. */
  #find(name: string): Registration | undefined {
    return this.#registrations.find((one) => one.name === name && !one.isLeaving)
  }

  #change(registrations: readonly Registration[]): void {
    this.#registrations = registrations
    this.#options.onChange()
  }

  #endLoading(registration: Registration): void {
    if (this.#loadingCritical.delete(registration) && !this.isLoading) this.#options.onReady()
  }

  /** Returns `undefined` when the plugin has loaded or failed within the call, otherwise a promise that never rejects. */
  #load(registration: Registration, onLoad: (name: string) => void): Promise<void> | undefined {
    const { client, limits, call } = this.#options
    const { plugin } = registration
    const succeed = (): void => {
      if (registration.state !== 'loading') return
      registration.state = 'loaded'
      // The handlers are read again, because `load` may have set some.
      this.#change(this.#registrations)
      onLoad(registration.name)
    }
    try {
      const loaded: unknown = call(() => plugin.load?.(Context.system(), client))
      const ready = plugin.ready?.bind(plugin)
      if (!isThenable(loaded) && ready === undefined) {
        succeed()
        return undefined
      }
      const whole = Promise.resolve(loaded).then(() => (ready === undefined ? undefined : call(ready)))
      return limits.bound(whole).then(succeed, (error) => this.#fail(registration, error))
    } catch (error) {
      this.#fail(registration, error)
      return undefined
    }
  }

  #fail(registration: Registration, error: unknown): void {
    const { name, isRequired, state } = registration
    let verb = 'failed to load and was left out'
    if (state === 'loading') {
      registration.state = 'failed'
      if (isRequired) verb = 'failed to load, and events fail without it'
      this.#change(this.#registrations.filter((one) => one !== registration || isRequired))
    }
    this.#options.report(pluginFailure(name, verb, error, undefined))
  }

  async #unload({ plugin, name }: Registration): Promise<void> {
    const { client, limits, report, call } = this.#options
    try {
      const unloaded: unknown = call(() => plugin.unload?.(Context.system(), client))
      if (isThenable(unloaded)) await limits.bound(unloaded)
    } catch (error) {
      report(pluginFailure(name, 'failed to unload', error, undefined))
    }
  }
}
