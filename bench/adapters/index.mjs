/**
 * One adapter per client. Each module exports:
 *
 * - `packageName`: the package of the client, for the list of versions. Absent if the client is not from npm.
 * - `specifier`: the module that the `import` scenario imports.
 * - `defaultsNote`: a note below the tables of the `default` scenarios, about a default of the client.
 * - `confirmNote`: a note below the table of the `confirm` scenario.
 * - `open(settings)`: creates a client. `track(event)` queues an event. `confirm(event)` resolves when the event is delivered.
 *   `close()` resolves when all events are delivered. So does `flush()`, after which the client can still be used. Some
 *   adapters have no `flush()`.
 *
 * `settings` are `{ url, flushAt, isDefault, maxWaiting, plugins, oauth, feature }`. With `isDefault`, only the key and the URL
 * are set, and `flushAt: 15` if the client has another default.
 */
export const adapterNames = [
  'floor',
  'floor-fixed',
  'floor-fetch',
  'floor-dispatcher',
  'trackpost',
  'trackpost-fetch',
  'segment',
  'rudderstack',
  'posthog',
  'amplitude',
  'customerio',
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
