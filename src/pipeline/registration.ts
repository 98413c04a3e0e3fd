import { SettingsError } from '../errors/errors.ts'
import { describe } from '../message/describe.ts'
import { KINDS, type Kind } from '../message/types.ts'
import { AsyncResource } from '../runtime/async-context.node.ts'
import type { CapturedContext } from '../runtime/async-context.ts'
import { type Handler, PLUGIN_TYPES, type Plugin, type PluginType } from './plugin.ts'

/** A plugin that is registered. What is read of it again and again is read once, when it cannot throw any more. */
export interface Registration {
  readonly plugin: Plugin
  readonly name: string
  readonly type: PluginType
  /** Events fail while it could not be loaded. */
  readonly isRequired: boolean
  /** That of the registration. */
  readonly asyncContext: CapturedContext
  /** A handler is declared `async`, or has returned a promise. */
  isAsync: boolean
  state: 'loading' | 'loaded' | 'failed' | 'removed'
}

/** @throws SettingsError when `plugin` is not one; whatever a getter or a proxy's trap throws. */
export function createRegistration(plugin: Plugin): Registration {
  if (typeof plugin !== 'object' || plugin === null) throw bad('an object', plugin)
  const { name, type, onLoadFailure } = plugin
  if (typeof name !== 'string' || name === '') throw bad('a name that is a non-empty string', name)
  if (!PLUGIN_TYPES.includes(type)) throw bad(`one of the types ${PLUGIN_TYPES.join(', ')}`, type)
  for (const method of ['load', 'isLoaded', 'ready', 'unload', 'all'] as const) {
    const value: unknown = plugin[method]
    if (value !== undefined && typeof value !== 'function') throw bad(`${method} to be a function`, value)
  }
  if (onLoadFailure !== undefined && onLoadFailure !== 'skip' && onLoadFailure !== 'drop') {
    throw bad(`onLoadFailure to be 'skip' or 'drop'`, onLoadFailure)
  }
  return {
    plugin,
    name,
    type,
    isRequired: onLoadFailure === 'drop',
    asyncContext: new AsyncResource('Trackpost'),
    isAsync: isDeclaredAsync(plugin.all) || KINDS.some((kind) => isDeclaredAsync(plugin[kind])),
    state: 'loading',
  }
}

/** Whether a plugin handles events of this kind. One that throws at the question is asked when there is an event. */
export function handles({ plugin }: Registration, kind: Kind): boolean {
  try {
    return handlerOf(plugin, kind) !== undefined
  } catch {
    return true
  }
}

/** What a plugin handles events of this kind with: the handler of the kind, else the one for all. */
export function handlerOf(plugin: Plugin, kind: Kind): Handler | undefined {
  const own: unknown = plugin[kind]
  if (typeof own === 'function') return own as Handler
  return typeof plugin.all === 'function' ? plugin.all : undefined
}

function isDeclaredAsync(handler: unknown): boolean {
  return Object.prototype.toString.call(handler) === '[object AsyncFunction]'
}

function bad(expected: string, got: unknown): SettingsError {
  return new SettingsError('plugin', `expected ${expected}, got ${describe(got)}`)
}
