import type { Core } from '../core/core.ts'
import { endOfTurn } from '../core/turn.ts'
import { emit } from '../events/emitter.ts'
import { pluginFailure } from '../pipeline/handler-result.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import { asPlugin, type PluginFunction } from '../pipeline/registration.ts'

/** Registers and deregisters plugins, reports values that are not plugins, and emits `register` and `deregister`. */
export class Registry {
  readonly #core: Core
  #ready: Promise<unknown> = Promise.resolve()

  constructor(core: Core) {
    this.#core = core
  }

  get ready(): Promise<void> {
    return this.#ready.then(() => {})
  }

  /** `register` is emitted once for the plugins that load within this call, and once for each that loads later. */
  async register(plugins: readonly (Plugin | PluginFunction)[]): Promise<void> {
    const loadedAtOnce: string[] = []
    let isInCall = true
    const onLoad = (name: string): void => {
      if (isInCall) loadedAtOnce.push(name)
      else emit(this.#core.client, 'register', [name])
    }
    const loading = Promise.all(plugins.map((plugin) => this.#register(plugin, onLoad)))
    isInCall = false
    this.#ready = Promise.all([this.#ready, loading])
    if (loadedAtOnce.length > 0) emit(this.#core.client, 'register', loadedAtOnce)
    await loading
  }

  /** In a handler it resolves at once: the handler might wait for its own end. */
  async deregister(names: readonly string[]): Promise<void> {
    const { isInHandler } = this.#core.pipeline
    const removed = this.#remove(names)
    if (!isInHandler) await removed
  }

  async #remove(names: readonly string[]): Promise<void> {
    const { pipeline, client } = this.#core
    const work = names.map(async (name) => (await pipeline.deregister(name, endOfTurn(this.#core))) && name)
    const removed = (await Promise.all(work)).filter((name) => name !== false)
    emit(client, 'deregister', removed)
  }

  async #register(plugin: Plugin | PluginFunction, onLoad: (name: string) => void): Promise<void> {
    try {
      await this.#core.pipeline.register(asPlugin(plugin), onLoad)
    } catch (error) {
      const name = String((plugin as Plugin | undefined)?.name ?? '')
      this.#core.observer.onPluginFailure(pluginFailure(name, 'was not registered', error, undefined))
    }
  }
}
