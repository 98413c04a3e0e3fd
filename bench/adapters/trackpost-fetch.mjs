import { open as openTrackpost, specifier } from './trackpost.mjs'

export { specifier }

/**
 * The SDK in a process that uses `fetch`: it sends over the connections of `fetch`, which reading `Headers`
 * makes Node.js load.
 */
export function open(settings) {
  void globalThis.Headers
  return openTrackpost(settings)
}
