import type { Context, ContextEvent } from './context.ts'
import type { Tracker } from './tracker.ts'

/**
 * When a plugin runs, and the effect of its failure. The types run in this order.
 *
 * - `before`: runs first; may change or drop the event. When the plugin fails, the event fails with the code `plugin`
 * - `enrichment`: adds data to the event. When the plugin fails, it is skipped and the failure is reported
 * - `destination`: receives the finished event, in parallel with the delivery; respects `integrations`
 * - `after`: runs when the event has its outcome
 * - `utility`: usually has no handlers and only uses `load`; its handlers run after the `after` plugins
 */
export type PluginType = 'before' | 'enrichment' | 'destination' | 'after' | 'utility'

/** The client, as its plugins see it. */
export interface PluginHost extends Tracker {
  /** The version of this library. */
  readonly VERSION: string
}

/**
 * The result of a handler of a `before` or `enrichment` plugin. The given context or `undefined` keeps the event; another
 * context or an event object replaces it. `null` and `false` from a `before` plugin drop the event. The results of other
 * plugins are ignored.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler may have no return statement, or be declared so
export type HandlerResult = Context | ContextEvent | null | false | undefined | void

/** Handles one event. A promise that it returns must settle within 5 s. */
export type Handler = (ctx: Context) => HandlerResult | PromiseLike<HandlerResult>

/**
 * Your own code that runs for every event.
 *
 * @example
 * const anonymize: Plugin = {
 *   name: 'anonymize',
 *   type: 'before',
 *   onLoadFailure: 'drop',
 *   track(ctx) {
 *     ctx.updateEvent('context.ip', '0.0.0.0')
 *     return ctx
 *   },
 * }
 */
export interface Plugin {
  /** Unique name; not empty. Used by `deregister` and, for a destination, by `integrations`. */
  name: string
  /** When the plugin runs, and the effect of its failure. */
  type: PluginType
  /** Not used by the client. */
  version?: string
  /** Further names of a destination in `integrations`. */
  alternativeNames?: string[]
  /**
   * Decides about events when the plugin fails to load. With `skip`, they are sent without the plugin. With `drop`, they fail
   * with the code `plugin` until the plugin is deregistered or registered again. Use `drop` if no event may be sent without the
   * plugin, as for redaction. Default: `skip`.
   */
  onLoadFailure?: 'skip' | 'drop'
  /** Called before each event. If it returns `false`, the plugin is skipped for this event. Default: always loaded. */
  isLoaded?(): boolean
  /**
   * Called once, when the plugin is registered, with a time limit of 5 s. If `load` throws, rejects or takes longer, the plugin
   * is left out. Events wait until all `before`, `enrichment` and `after` plugins have loaded.
   */
  // biome-ignore lint/suspicious/noExplicitAny: a plugin may declare the client as `Analytics` or leave it out
  load?(ctx: Context, analytics: any): unknown
  /** Called once, when the plugin is deregistered, with a time limit of 5 s. */
  // biome-ignore lint/suspicious/noExplicitAny: a plugin may declare the client as `Analytics` or leave it out
  unload?(ctx: Context, analytics: any): unknown
  /** Called after `load`. The same 5 s limit applies to both together. */
  ready?(): Promise<unknown>
  /** Handles `identify` events. */
  identify?: Handler
  /** Handles `track` events. */
  track?: Handler
  /** Handles `page` events. */
  page?: Handler
  /** Handles `screen` events. */
  screen?: Handler
  /** Handles `group` events. */
  group?: Handler
  /** Handles `alias` events. */
  alias?: Handler
  /** Handles the events of all kinds for which the plugin has no other handler. */
  all?: Handler
}
