import type { Report } from '../pipeline/handler-result.ts'
import type { PluginHost } from '../pipeline/plugin.ts'
import type { PluginLoader } from '../pipeline/plugin-loader.ts'
import type { Clock } from '../runtime/clock.ts'
import type { JsRuntime } from '../runtime/detect.ts'
import type { OwnParts, Parts } from './parts.ts'

export interface RequestsOptions {
  readonly jsRuntime: JsRuntime
  readonly clock: Clock
  /** What plugins are loaded with. */
  readonly client: PluginHost
  readonly report: Report
  /**
   * Makes parts that share nothing with others but plain data.
   *
   * @param plugins Those of all requests. Default: the parts have their own, and are the only ones.
   */
  readonly create: (plugins?: PluginLoader) => OwnParts
}

/** Makes the parts of a client: one set of them, or one for each request where the runtime ends what a request has made. */
export type PerRequest = (options: RequestsOptions) => Parts
