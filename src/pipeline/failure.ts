import { describeCause } from '../errors/cause.ts'
import { DeliveryError } from '../errors/errors.ts'
import type { Context } from './context.ts'

/** A failure of a plugin that cost no event. */
export interface PluginFailure {
  /** The name of the plugin. */
  readonly plugin: string
  /** What it did, in words of ours: the same for all failures of one sort. */
  readonly verb: string
  /** `plugin`, with the plugin's name, the verb and the cause in its message. */
  readonly reason: DeliveryError
  /** The event that it was handling, if it was handling one. */
  readonly ctx: Context | undefined
}

/** Takes failures that cost no event. Never throws. */
export type Report = (failure: PluginFailure) => void

export function pluginFailure(
  plugin: string,
  verb: string,
  cause: unknown,
  ctx: Context | undefined,
): PluginFailure {
  return { plugin, verb, reason: pluginError(plugin, verb, cause), ctx }
}

export function pluginError(plugin: string, verb: string, cause: unknown): DeliveryError {
  return new DeliveryError('plugin', `the plugin '${plugin}' ${verb}: ${describeCause(cause)}`, { cause })
}
