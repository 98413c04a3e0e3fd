import type { PluginLoader, PluginLoaderOptions } from '../pipeline/plugin-loader.ts'
import type { Clock } from '../runtime/clock.ts'
import type { JsRuntime } from '../runtime/detect.ts'
import type { OwnParts, Parts } from './parts.ts'

export type PluginChanges = Pick<PluginLoaderOptions, 'onChange' | 'onReady' | 'onRegister'>

export interface RequestsOptions {
  readonly jsRuntime: JsRuntime
  readonly clock: Clock
  /** Makes the plugin loader that all incoming requests share. */
  readonly createPlugins: (clock: Clock, changes: PluginChanges) => PluginLoader
  /**
   * Makes a set of parts that shares only plain data with other sets.
   *
   * @param plugins The shared plugin loader. Without it, the parts are the only set and make their own loader.
   */
  readonly create: (plugins?: PluginLoader) => OwnParts
}

/**
 * Makes the parts of a client: one set, or one set for each incoming request on runtimes where timers and sockets end with the
 * request.
 */
export type PerRequest = (options: RequestsOptions) => Parts
