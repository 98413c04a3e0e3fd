import type { Context, ContextEvent } from './context.ts'
import type { Tracker } from './tracker.ts'

/**
 * Where a plugin stands and what its failure means. They run in this order.
 *
 * - `before`: runs first; may change or drop the event. When it fails, the event fails with `plugin`
 * - `enrichment`: adds to the event. When it fails, it is skipped and reported
 * - `destination`: receives the finished event, side by side with the delivery; obeys `integrations`
 * - `after`: runs when the event has its outcome
 * - `utility`: loaded and kept; its handlers, if it has any, run after those of `after`
 */
export type PluginType = 'before' | 'enrichment' | 'destination' | 'after' | 'utility'

/** The client, as a plugin that is loaded into it sees it. */
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

/** Handles one event. Given 5 s when it returns a promise. */
export type Handler = (ctx: Context) => HandlerResult | PromiseLike<HandlerResult>

/**
 * Code of yours that runs for every event.
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
  /** Where it stands and what its failure means. */
  type: PluginType
  /** For your own use. */
  version?: string
  /** More names by which `integrations` may switch a destination. */
  alternativeNames?: string[]
  /**
   * The fate of events when it cannot be loaded. With `drop` they fail with `plugin` until it is deregistered or
   * registered anew: for plugins without which nothing may leave, such as redaction. Default: `skip`, events go on.
   */
  onLoadFailure?: 'skip' | 'drop'
  /** Asked before each event: `false` passes the plugin over. Default: true. */
  isLoaded?(): boolean
  /**
   * Called once, when it is registered, and given 5 s. Events wait for `before`, `enrichment` and `after` plugins; when it
   * throws, rejects or takes longer, the plugin is left out.
   */
  // biome-ignore lint/suspicious/noExplicitAny: a plugin may declare the client as `Analytics` or leave it out
  load?(ctx: Context, analytics: any): unknown
  /** Called once, when it is deregistered, and given 5 s. */
  // biome-ignore lint/suspicious/noExplicitAny: a plugin may declare the client as `Analytics` or leave it out
  unload?(ctx: Context, analytics: any): unknown
  /** Awaited after `load`. */
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
