import type { Tracker } from '../tracker.ts'
import type { Context } from './context.ts'

/**
 * Where a plugin stands and what its failure means.
 *
 * - `before`: runs first; may change or drop the event. When it throws, the event fails with `plugin`
 * - `enrichment`: adds to the event. When it throws it is skipped and reported
 * - `destination`: receives the finished event, beside the delivery; obeys `integrations`
 * - `after`: runs when the delivery has been settled
 * - `utility`: loaded and kept, no part in the pipeline
 */
export type PluginType = (typeof PLUGIN_TYPES)[number]

export const PLUGIN_TYPES = ['before', 'enrichment', 'destination', 'after', 'utility'] as const

/** What a plugin may do with the client that it is loaded into. */
export interface PluginHost extends Tracker {
  readonly VERSION: string
}

type HandlerResult = Context | undefined | Promise<Context | undefined>
type Handler = (ctx: Context) => HandlerResult

/** Code of the user's that takes part in the way of every event. @see spec.md, section 7 */
export interface Plugin {
  /** By which it is deregistered, and switched on and off in `integrations` if it is a destination. */
  name: string
  type: PluginType
  version?: string
  /** Further names by which `integrations` may switch it. */
  alternativeNames?: string[]
  /** Asked before each event: `false` leaves the plugin out. */
  isLoaded(): boolean
  /** Called once, when it is registered. Given 5 s; then, or if it fails, the plugin is left out. */
  // biome-ignore lint/suspicious/noExplicitAny: a plugin may declare the client as `Analytics` or leave it out
  load(ctx: Context, analytics: any): unknown
  /** Called once, when it is deregistered. */
  // biome-ignore lint/suspicious/noExplicitAny: as for load
  unload?(ctx: Context, analytics: any): unknown
  /** Awaited after `load`. */
  ready?(): Promise<unknown>
  identify?: Handler
  track?: Handler
  page?: Handler
  screen?: Handler
  group?: Handler
  alias?: Handler
}
