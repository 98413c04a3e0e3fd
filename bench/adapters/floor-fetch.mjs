import { open as openFloor } from './floor.mjs'

/**
 * The floor over `fetch`, which most clients use: separates the cost of `fetch` from the cost of a client.
 */
export function open(settings) {
  return openFloor(settings, { over: 'fetch' })
}
