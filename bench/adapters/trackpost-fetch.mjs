import { open as openTrackpost, specifier } from './trackpost.mjs'

export { specifier }

/** The SDK in a process that uses `fetch`: it sends over the connections of that. Reading `Headers` makes Node.js load it. */
export function open(settings) {
  void globalThis.Headers
  return openTrackpost(settings)
}
