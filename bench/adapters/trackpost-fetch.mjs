import { open as openTrackpost, specifier } from './trackpost.mjs'

export { specifier }

/**
 * The SDK in a process that uses `fetch`, whose connections it then uses. Reading `Headers` makes Node.js
 * load `fetch`.
 */
export function open(settings) {
  void globalThis.Headers
  return openTrackpost(settings)
}
