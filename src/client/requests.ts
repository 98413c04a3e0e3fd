import type { PluginLoader, PluginLoaderOptions } from '../pipeline/plugin-loader.ts'
import type { Clock } from '../runtime/clock.ts'
import type { JsRuntime } from '../runtime/detect.ts'
import type { OwnParts, Parts } from './parts.ts'

/** Listeners of plugins. */
export type PluginChanges = Pick<PluginLoaderOptions, 'onChange' | 'onReady' | 'onRegister'>

export interface RequestsOptions {
  readonly jsRuntime: JsRuntime
  readonly clock: Clock
  /** Makes what loads the plugins of all requests. */
  readonly createPlugins: (clock: Clock, told: PluginChanges) => PluginLoader
  /**
   * Makes parts that share nothing with others but plain data.
   *
   * @param plugins Those of all requests. Default: the parts have their own, and are the only ones.
   */
  readonly create: (plugins?: PluginLoader) => OwnParts
}

/** Makes the parts of a client: one set of them, or one for each request where the runtime ends what a request has made. */
export type PerRequest = (options: RequestsOptions) => Parts
