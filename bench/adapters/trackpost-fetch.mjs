import { open as openTrackpost, specifier } from './trackpost.mjs'

export { specifier }

/**
 * The SDK in a process that uses `fetch`, where it sends over the connections of `fetch`. Reading `Headers` makes
 * Node.js load `fetch`.
 */
export function open(settings) {
  void globalThis.Headers
  return openTrackpost(settings)
}
