import type { Context, ContextEvent } from './context.ts'
import type { Tracker } from './tracker.ts'

/**
 * When a plugin runs, and what its failure means. The types run in this order.
 *
 * - `before`: runs first; may change or drop the event. When it fails, the event fails with `plugin`
 * - `enrichment`: adds to the event. When it fails, it is skipped and reported
 * - `destination`: receives the finished event, in parallel with the delivery; respects `integrations`
 * - `after`: runs when the event has its outcome
 * - `utility`: loaded and kept; its handlers, if it has any, run after those of `after`
 */
export type PluginType = 'before' | 'enrichment' | 'destination' | 'after' | 'utility'

/** The client, as its plugins see it. */
export interface PluginHost extends Tracker {
  /** The version of this library. */
  readonly VERSION: string
}

/**
 * The result of a handler of a `before` or `enrichment` plugin: the context that it was given (`undefined` means the
 * same), another context, or an event object as the new event. `null` and `false` from a `before` plugin drop the event.
 * The results of other plugins are ignored.
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
  /** Unique name, used by `deregister` and, for a destination, by `integrations`. Not empty. */
  name: string
  /** When it runs, and what its failure means. */
  type: PluginType
  /** Not used by the client. */
  version?: string
  /** More names for a destination, for the switches in `integrations`. */
  alternativeNames?: string[]
  /**
   * Decides about events when the plugin fails to load. With `drop` they fail with `plugin` until it is deregistered or
   * registered again: for plugins without which no event may be sent, such as redaction. Default: `skip`, events go on
   * without it.
   */
  onLoadFailure?: 'skip' | 'drop'
  /** Called before each event: with `false` the plugin is skipped. Default: true. */
  isLoaded?(): boolean
  /**
   * Called once, when the plugin is registered, with a time limit of 5 s. Events wait for `before`, `enrichment` and `after`
   * plugins. If it throws, rejects or takes longer, the plugin is left out.
   */
  // biome-ignore lint/suspicious/noExplicitAny: a plugin may declare the client as `Analytics` or leave it out
  load?(ctx: Context, analytics: any): unknown
  /** Called once, when the plugin is deregistered, with a time limit of 5 s. */
  // biome-ignore lint/suspicious/noExplicitAny: a plugin may declare the client as `Analytics` or leave it out
  unload?(ctx: Context, analytics: any): unknown
  /** Called after `load`; its promise is awaited within the same 5 s. */
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
  /** Handles the events of every kind that has no handler of its own here. */
  all?: Handler
}
