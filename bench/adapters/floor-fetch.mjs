import { open as openFloor } from './floor.mjs'

/** The floor (a minimal client) over `fetch`: it shows the cost of `fetch` itself. */
export function open(settings) {
  return openFloor(settings, { over: 'fetch' })
}
