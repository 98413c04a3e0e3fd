/**
 * One adapter per client. Each module exports
 *
 * - `packageName`: the package it measures, for the table of versions; none for our own code;
 * - `specifier`: what the import scenario imports;
 * - `defaultsNote`: what its own defaults change in the `default` scenarios, where they differ;
 * - `open(settings)`: a client with `track(event)`, `confirm(event)` (a promise of that one delivery) and
 *   `close()` (a promise that everything was delivered); `flush()` where the client can go on afterwards.
 *
 * `settings` are `{ url, flushAt, isDefault, maxWaiting, plugins, oauth }`. With `isDefault` nothing is
 * set but key, address and, where the default is another, a `flushAt` of 15.
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
