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
  /** Called once for each plugin, unless its loading fails within the call of `register`. */
  readonly onRegister: (added: Registration) => void
  /** Called when every plugin for which events wait has loaded or failed. */
  readonly onReady: () => void
}

export class PluginLoader {
  readonly #options: PluginLoaderOptions
  #registrations: readonly Registration[] = []
  #missing: string | undefined
  /** Plugins that are loading and for which all events wait. */
  readonly #loadingCritical = new Set<Registration>()
  /** Plugins that are loading while events go on: only the calls of their own handlers wait. */
  readonly #loadingAside = new Map<Registration, Promise<unknown>>()

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
    return this.#missing
  }

  /** `undefined` unless the plugin is a destination or utility plugin that is loading. */
  loadingOf(registration: Registration): Promise<unknown> | undefined {
    return this.#loadingAside.get(registration)
  }

  /**
   * Resolves to the name of the plugin, or to `undefined` when the plugin failed to load.
   *
   * @throws SettingsError when `plugin` is not a plugin, or its name is taken.
   */
  register(plugin: Plugin): Promise<string | undefined> {
    const added = createRegistration(plugin)
    const namesake = this.#registrations.find(({ name }) => name === added.name)
    if (namesake !== undefined && namesake.state !== 'failed') {
      throw new SettingsError('plugin', `there is one named '${added.name}' already`)
    }
    // A plugin that failed to load may be registered again.
    this.#change([...this.#registrations.filter((one) => one !== namesake), added])
    const isCritical = added.type !== 'destination' && added.type !== 'utility'
    // Set before `load` is called, so that events that `load` tracks wait too.
    if (isCritical) this.#loadingCritical.add(added)
    const loading = this.#load(added)
    if (added.state !== 'failed') this.#options.onRegister(added)
    if (loading === undefined) {
      this.#endLoading(added)
      return Promise.resolve(nameOf(added))
    }
    if (!isCritical) this.#loadingAside.set(added, loading)
    return loading.then(() => {
      this.#loadingAside.delete(added)
      this.#endLoading(added)
      return nameOf(added)
    })
  }

  /** Resolves when the plugin has unloaded, or after 5 s. The value tells whether there was such a plugin. */
  async deregister(name: string): Promise<boolean> {
    const removed = this.#registrations.find((one) => one.name === name)
    if (removed === undefined) return false
    const wasLoaded = removed.state !== 'failed'
    removed.state = 'removed'
    this.#change(this.#registrations.filter((one) => one !== removed))
    // No new event waits for a plugin that is being removed.
    this.#endLoading(removed)
    if (wasLoaded) await this.#unload(removed)
    return true
  }

  /** Ends the loading of a plugin whose timer was lost: on edge runtimes, a timer ends with the request that set it. */
  giveUp(registration: Registration): void {
    this.#fail(registration, new Error('the request that registered it has ended'))
    this.#loadingAside.delete(registration)
    this.#endLoading(registration)
  }

  #change(registrations: readonly Registration[]): void {
    this.#registrations = registrations
    this.#missing = registrations.find(({ state }) => state === 'failed')?.name
    this.#options.onChange()
  }

  #endLoading(registration: Registration): void {
    if (this.#loadingCritical.delete(registration) && !this.isLoading) this.#options.onReady()
  }

  /** Returns `undefined` when the plugin has loaded or failed within the call, otherwise a promise that never rejects. */
  #load(registration: Registration): Promise<void> | undefined {
    const { client, limits } = this.#options
    const { plugin } = registration
    const succeed = (): void => {
      if (registration.state !== 'loading') return
      registration.state = 'loaded'
      // The handlers are read again, because `load` may have set some.
      this.#change(this.#registrations)
    }
    try {
      const loaded: unknown = plugin.load?.(Context.system(), client)
      const ready = plugin.ready?.bind(plugin)
      if (!isThenable(loaded) && ready === undefined) {
        succeed()
        return undefined
      }
      const whole = Promise.resolve(loaded).then(() => ready?.())
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
    const { client, limits, report } = this.#options
    try {
      const unloaded: unknown = plugin.unload?.(Context.system(), client)
      if (isThenable(unloaded)) await limits.bound(unloaded)
    } catch (error) {
      report(pluginFailure(name, 'failed to unload', error, undefined))
    }
  }
}

function nameOf({ name, state }: Registration): string | undefined {
  return state === 'loaded' ? name : undefined
}
