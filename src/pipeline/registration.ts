import { SettingsError } from '../errors/errors.ts'
import { describe } from '../message/describe.ts'
import type { Kind } from '../message/types.ts'
import { KINDS } from '../message/wire.ts'
import { AsyncResource } from '../runtime/platform.node.ts'
import type { CapturedContext } from '../runtime/platform.ts'
import type { Context, ContextEvent } from './context.ts'
import type { Handler, Plugin, PluginType } from './plugin.ts'

export const PLUGIN_TYPES: readonly PluginType[] = ['before', 'enrichment', 'destination', 'after', 'utility']

/** The `name`, `type` and `onLoadFailure` of the plugin are read only once, because getters may throw. */
export interface Registration {
  readonly plugin: Plugin
  readonly name: string
  readonly type: PluginType
  /** Whether events fail when the plugin has failed to load (`onLoadFailure: 'drop'`). */
  readonly isRequired: boolean
  /** The asynchronous context in which the plugin was registered. */
  readonly asyncContext: CapturedContext
  state: 'loading' | 'loaded' | 'failed' | 'removed'
  /** Resolves when the plugin has loaded or failed; `undefined` while it is not loading. */
  loading: Promise<void> | undefined
  /** Whether it is being removed: it has given its name up. */
  isLeaving: boolean
  /** How many events are inside it, and what to call when there is none. */
  inside: number
  onEmpty: () => void
}

/** @throws SettingsError when `plugin` is not a plugin; any error that a getter or a proxy throws. */
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
    state: 'loading',
    loading: undefined,
    isLeaving: false,
    inside: 0,
    onEmpty: () => {},
  }
}

export function handlerOf(plugin: Plugin, kind: Kind): Handler | undefined {
  const own: unknown = plugin[kind]
  if (typeof own === 'function') return own as Handler
  return typeof plugin.all === 'function' ? plugin.all : undefined
}

function bad(expected: string, got: unknown): SettingsError {
  return new SettingsError('plugin', `expected ${expected}, got ${describe(got)}`)
}

/** The plugins that handle one kind of event, in the order in which they run. */
export interface Stages {
  /** `before`, then `enrichment`. */
  readonly front: readonly Registration[]
  readonly destinations: readonly Registration[]
  readonly after: readonly Registration[]
  readonly utilities: readonly Registration[]
}

/** Plugins of one type stay in the order of registration. */
export function stagesOf(registrations: readonly Registration[]): Record<Kind, Stages> {
  const entries = KINDS.map((kind): [Kind, Stages] => {
    const of = (type: PluginType): Registration[] =>
      // What is loading may get its handlers in `load`.
      registrations.filter(
        (one) => one.type === type && (one.state === 'loading' || handlerOf(one.plugin, kind) !== undefined),
      )
    return [
      kind,
      {
        front: [...of('before'), ...of('enrichment')],
        destinations: of('destination'),
        after: of('after'),
        utilities: of('utility'),
      },
    ]
  })
  return Object.fromEntries(entries) as Record<Kind, Stages>
}

/** The result of a {@link PluginFunction}: the event to send. `null` and `false` drop the event; `undefined` keeps it. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function may have no return statement, or be declared so
export type EventResult = ContextEvent | null | false | undefined | void

/**
 * A `before` plugin as a function, which receives events of all kinds and returns the event to send. When the function throws,
 * the event fails with the code `plugin`. A promise must settle within 5 s. `deregister` takes the name of the function.
 *
 * @example
 * analytics.register((event) => (event.event === 'Health Checked' ? null : event))
 */
export type PluginFunction = (event: ContextEvent) => EventResult | PromiseLike<EventResult>

/** A function keeps its plugin name, so that registering the function twice is refused. */
const names = new WeakMap<PluginFunction, string>()
const counts = new Map<string, number>()

/** @throws SettingsError for a class. */
export function asPlugin(given: Plugin | PluginFunction): Plugin {
  if (typeof given !== 'function') return given
  if (/^class\b/.test(Function.prototype.toString.call(given))) {
    throw new SettingsError(
      'plugin',
      `expected an instance of ${given.name || 'the class'}, got the class; write 'new'`,
    )
  }
  const name = nameOf(given)
  return { name, type: 'before', all: ({ event }) => given(event) }
}

function nameOf(given: PluginFunction): string {
  const known = names.get(given)
  if (known !== undefined) return known
  const own = typeof given.name === 'string' && given.name !== '' ? given.name : 'function'
  const count = (counts.get(own) ?? 0) + 1
  counts.set(own, count)
  const name = count === 1 ? own : `${own} ${count}`
  names.set(given, name)
  return name
}

/** Whether an event goes to a destination. */
export function isChosen({ name, plugin }: Registration, ctx: Context): boolean {
  const { alternativeNames } = plugin
  return isSwitchedOn(ctx.event.integrations, [
    name,
    ...(Array.isArray(alternativeNames) ? alternativeNames : []),
  ])
}

/**
 * Whether `integrations` sends an event to the destination with these names. The first name with a switch decides, otherwise
 * `All`; without any switch, the destination is on.
 *
 * `true` or an object of options switches a destination on, `false` switches it off; any other value is ignored.
 *
 * @see docs/spec.md, section 2
 */
export function isSwitchedOn(
  integrations: Readonly<Record<string, unknown>> | null | undefined,
  names: readonly string[],
): boolean {
  if (integrations === undefined || integrations === null) return true
  for (const name of names) {
    const isOn = switchOf(integrations, name)
    if (isOn !== undefined) return isOn
  }
  return switchOf(integrations, 'All') ?? true
}

/** Only own keys count, because a destination may be called `toString`. */
function switchOf(integrations: Readonly<Record<string, unknown>>, name: string): boolean | undefined {
  if (Object.getOwnPropertyDescriptor(integrations, name) === undefined) return undefined
  const value = integrations[name]
  if (typeof value === 'boolean') return value
  return typeof value === 'object' && value !== null ? true : undefined
}
