import { describeCause } from '../errors/cause.ts'
import { DeliveryError } from '../errors/errors.ts'
import { type Emitter, emit } from '../events/emitter.ts'
import type { AnalyticsEvents } from '../events/events.ts'
import type { Observer } from '../events/observer.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import { asPlugin, type PluginFunction } from '../pipeline/registration.ts'

/** Registers and deregisters plugins, reports values that are not plugins, and emits `register` and `deregister`. */
export class Registry {
  readonly #pipeline: Pipeline
  readonly #observer: Observer
  readonly #emitter: Emitter<AnalyticsEvents>
  readonly #deregister: (name: string) => Promise<boolean>
  #ready: Promise<unknown> = Promise.resolve()

  constructor(
    pipeline: Pipeline,
    observer: Observer,
    emitter: Emitter<AnalyticsEvents>,
    deregister: (name: string) => Promise<boolean>,
  ) {
    this.#deregister = deregister
    this.#pipeline = pipeline
    this.#observer = observer
    this.#emitter = emitter
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
      else emit(this.#emitter, 'register', [name])
    }
    const loading = Promise.all(plugins.map((plugin) => this.#register(plugin, onLoad)))
    isInCall = false
    this.#ready = Promise.all([this.#ready, loading])
    if (loadedAtOnce.length > 0) emit(this.#emitter, 'register', loadedAtOnce)
    await loading
  }

  /** In a handler it resolves at once: the handler might wait for its own end. */
  async deregister(names: readonly string[]): Promise<void> {
    const isInHandler = this.#pipeline.isInHandler
    const removed = this.#remove(names)
    if (!isInHandler) await removed
  }

  async #remove(names: readonly string[]): Promise<void> {
    const wasThere = await Promise.all(names.map((name) => this.#deregister(name)))
    emit(
      this.#emitter,
      'deregister',
      names.filter((_, index) => wasThere[index]),
    )
  }

  async #register(plugin: Plugin | PluginFunction, onLoad: (name: string) => void): Promise<void> {
    try {
      await this.#pipeline.register(asPlugin(plugin), onLoad)
    } catch (error) {
      const reason = new DeliveryError('plugin', describeCause(error), { cause: error })
      this.#observer.onPluginFailure({
        plugin: String((plugin as Plugin | undefined)?.name ?? ''),
        verb: 'register',
        reason,
        ctx: undefined,
      })
    }
  }
}
