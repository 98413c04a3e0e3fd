import { SettingsError } from '../errors/errors.ts'
import type { ContextEvent } from './context.ts'
import type { Plugin } from './plugin.ts'

/** What goes on after a {@link PluginFunction}: the event that it returns. `null` and `false` drop the event. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function may have no return statement, or be declared so
export type EventResult = ContextEvent | null | false | undefined | void

/**
 * A plugin in one function: it is given each event before it is sent, of every kind, and returns the one that goes on. As a `before`
 * plugin: when it throws, the event fails with `plugin`; given 5 s when it returns a promise. It is deregistered by its own name.
 *
 * @example
 * analytics.register((event) => (event.event === 'Health Checked' ? null : event))
 */
export type PluginFunction = (event: ContextEvent) => EventResult | PromiseLike<EventResult>

/** One function has one name, so that registering it twice is refused, as for any plugin. */
const names = new WeakMap<PluginFunction, string>()
const counts = new Map<string, number>()

/** The plugin that a function stands for; a plugin as it is. @throws SettingsError for a class. */
export function asPlugin(given: Plugin | PluginFunction): Plugin {
  if (typeof given !== 'function') return given
  if (/^class\b/.test(Function.prototype.toString.call(given))) {
    throw new SettingsError(
      'plugin',
      `expected an instance of ${given.name || 'the class'}, got the class; write 'new'`,
    )
  }
  const name = nameOf(given)
  // Kept apart, since only a function that is declared so is known to be asynchronous before its first event.
  const isAsync = Object.prototype.toString.call(given) === '[object AsyncFunction]'
  return {
    name,
    type: 'before',
    all: isAsync ? async ({ event }) => given(event) : ({ event }) => given(event),
  }
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
