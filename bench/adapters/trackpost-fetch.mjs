import { open as openTrackpost, specifier } from './trackpost.mjs'

export { specifier }

/** In a process that uses `fetch`, the SDK sends over the connections of `fetch`. Reading `Headers` loads `fetch`. */
export function open(settings) {
  void globalThis.Headers
  return openTrackpost(settings)
}
