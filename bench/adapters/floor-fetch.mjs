import { open as openFloor } from './floor.mjs'

/** The floor over `fetch`, which is what most clients use: tells the cost of `fetch` from a client's own. */
export function open(settings) {
  return openFloor(settings, { over: 'fetch' })
}
