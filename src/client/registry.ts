import { describeCause } from '../errors/cause.ts'
import { DeliveryError } from '../errors/errors.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import { asPlugin, type PluginFunction } from '../pipeline/registration.ts'
import { type Emitter, emit } from './emitter.ts'
import type { AnalyticsEvents } from './events.ts'
import type { Observer } from './observer.ts'

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

  async register(plugins: readonly (Plugin | PluginFunction)[]): Promise<void> {
    const loading = Promise.all(plugins.map((plugin) => this.#register(plugin)))
    this.#ready = Promise.all([this.#ready, loading])
    const names = await loading
    emit(
      this.#emitter,
      'register',
      names.filter((name) => name !== undefined),
    )
  }

  async deregister(names: readonly string[]): Promise<void> {
    const wasThere = await Promise.all(names.map((name) => this.#deregister(name)))
    emit(
      this.#emitter,
      'deregister',
      names.filter((_, index) => wasThere[index]),
    )
  }

  async #register(plugin: Plugin | PluginFunction): Promise<string | undefined> {
    try {
      return await this.#pipeline.register(asPlugin(plugin))
    } catch (error) {
      const reason = new DeliveryError('plugin', describeCause(error), { cause: error })
      this.#observer.onPluginFailure({ plugin: nameOf(plugin), verb: 'register', reason, ctx: undefined })
      return undefined
    }
  }
}

function nameOf(plugin: unknown): string {
  try {
    return String((plugin as Plugin).name)
  } catch {
    return ''
  }
}
