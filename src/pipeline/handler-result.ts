import { describeCause } from '../errors/cause.ts'
import { ContextCancelation, DeliveryError } from '../errors/errors.ts'
import { describe } from '../message/describe.ts'
import type { ContextEvent } from '../message/types.ts'
import { KINDS } from '../message/wire.ts'
import { Context } from './context.ts'
import type { Registration } from './registration.ts'

/** Fields that are copied from the replaced event if the new event does not have them. */
const CARRIED_OVER = ['type', 'messageId', 'timestamp', 'context', 'integrations', '_metadata'] as const

/** A handler returned a value that is not an event or a context. */
export class UnusableResult extends Error {}

/**
 * Returns the context that the handler returned, or `ctx` with the event that the handler returned, or else `ctx` unchanged.
 *
 * @throws ContextCancelation when a `before` handler returned `null` or `false` to drop the event.
 * @throws UnusableResult for any other value except `undefined`; TypeError if the handler has set `ctx.event` to something that
 * is not an event.
 */
export function continueWith(result: unknown, ctx: Context, { type }: Registration): Context {
  ctx.requireEvent()
  if (result === undefined || result === ctx) return ctx
  if (result instanceof Context) {
    result.event = complete(result.event, ctx.event)
    result.requireEvent()
    result.succeed(ctx)
    return result
  }
  const event = eventOf(result)
  if (event !== undefined) {
    ctx.event = complete(event, ctx.event)
    return ctx
  }
  if (type === 'before' && (result === null || result === false)) {
    throw new ContextCancelation(`it returned ${result}`)
  }
  throw new UnusableResult(`expected a context, an event or nothing, got ${describe(result)}`)
}

/** Reads the event from a result that is an event object, or a context of another copy of this package. */
function eventOf(result: unknown): ContextEvent | undefined {
  if (isEvent(result)) return result
  if (typeof result !== 'object' || result === null) return undefined
  const { event, updateEvent } = result as { event?: unknown; updateEvent?: unknown }
  return typeof updateEvent === 'function' && isEvent(event) ? event : undefined
}

function isEvent(value: unknown): value is ContextEvent {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const { type } = value as { type?: unknown }
  return (KINDS as readonly unknown[]).includes(type)
}

function complete(event: ContextEvent, former: ContextEvent): ContextEvent {
  if (typeof event !== 'object' || event === null) return event
  const missing = CARRIED_OVER.filter((field) => event[field] === undefined)
  if (missing.length === 0) return event
  return { ...event, ...Object.fromEntries(missing.map((field) => [field, former[field]])) }
}

/** A failure of a plugin that is not the outcome of an event. */
export interface PluginFailure {
  readonly plugin: string
  /** The kind of failure in words, for example `failed to unload`. */
  readonly verb: string
  readonly reason: DeliveryError
  readonly ctx: Context | undefined
}

/** Never throws. */
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

/** Makes the error for an event that cannot be read after its plugins have run. */
export function toPluginError(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error
  return new DeliveryError('plugin', 'a plugin set ctx.event to something that is not an event', {
    cause: error,
  })
}
