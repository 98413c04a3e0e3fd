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
  readonly #beforePass: (run: () => void) => void
  #ready: Promise<unknown> = Promise.resolve()

  constructor(
    pipeline: Pipeline,
    observer: Observer,
    emitter: Emitter<AnalyticsEvents>,
    deregister: (name: string) => Promise<boolean>,
    beforePass: (run: () => void) => void,
  ) {
    this.#beforePass = beforePass
    this.#deregister = deregister
    this.#pipeline = pipeline
    this.#observer = observer
    this.#emitter = emitter
  }

  get ready(): Promise<void> {
    return this.#ready.then(() => {})
  }

  /** `register` is emitted when the last plugin has loaded or failed: before events enter it, but after this call. */
  async register(plugins: readonly (Plugin | PluginFunction)[]): Promise<void> {
    const names: (string | undefined)[] = []
    let isInCall = true
    let open = plugins.length
    const tell = (): void => {
      const loaded = names.filter((name) => name !== undefined)
      emit(this.#emitter, 'register', loaded)
    }
    const onEnd = (index: number, name: string | undefined): void => {
      names[index] = name
      if (--open > 0) return
      if (isInCall) this.#beforePass(tell)
      else tell()
    }
    const loading = Promise.all(
      plugins.map((plugin, index) => this.#register(plugin, (name) => onEnd(index, name))),
    )
    isInCall = false
    if (plugins.length === 0) this.#beforePass(tell)
    this.#ready = Promise.all([this.#ready, loading])
    await loading
  }

  async deregister(names: readonly string[]): Promise<void> {
    const wasThere = await Promise.all(names.map((name) => this.#deregister(name)))
    emit(
      this.#emitter,
      'deregister',
      names.filter((_, index) => wasThere[index]),
    )
  }

  async #register(plugin: Plugin | PluginFunction, onEnd: (name: string | undefined) => void): Promise<void> {
    try {
      await this.#pipeline.register(asPlugin(plugin), onEnd)
    } catch (error) {
      const reason = new DeliveryError('plugin', describeCause(error), { cause: error })
      this.#observer.onPluginFailure({ plugin: nameOf(plugin), verb: 'register', reason, ctx: undefined })
      onEnd(undefined)
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
