/**
 * One adapter per client. Each module exports
 *
 * - `packageName`: the package that it measures, for the table of versions; absent for our own code;
 * - `specifier`: the module that the import scenario imports;
 * - `defaultsNote`: how its own defaults change the `default` scenarios, where they differ;
 * - `open(settings)`: a client with `track(event)`, `confirm(event)` (a promise of the delivery of this
 *   event) and `close()` (a promise of the delivery of all events); `flush()` where the client can be used
 *   afterwards.
 *
 * `settings` are `{ url, flushAt, isDefault, maxWaiting, plugins, oauth }`. With `isDefault` only key and
 * address are set and, where the default differs, a `flushAt` of 15.
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
