/**
 * One adapter per client. Each module exports:
 *
 * - `defaultsNote`: a note below the table of the `default` scenario, about a default of the client.
 * - `confirmNote`: a note below the table of the `confirm` scenario.
 * - `open(settings)`: creates a client. `track(event)` queues an event. `confirm(event)` resolves when the event is delivered.
 *   `close()` resolves when all events are delivered. So does `flush()`, after which the client can still be used. Some
 *   adapters have no `flush()`.
 *
 * `settings` are `{ url, flushAt, isDefault, maxWaiting, plugins, feature }`. With `isDefault`, only the key and the URL
 * are set, and `flushAt: 15` if the client has another default.
 */
export const adapterNames = [
  'floor',
  'trackpost',
  'segment',
  'rudderstack',
  'posthog',
  'none',
  'trackpost-other',
]

/** @param {string} name One of {@link adapterNames}. */
export function loadAdapter(name) {
  if (!adapterNames.includes(name)) {
    throw new TypeError(`unknown adapter "${name}"; there are ${adapterNames.join(', ')}`)
  }
  return import(`./${name}.mjs`)
}

export const writeKey = 'benchmark-key'
