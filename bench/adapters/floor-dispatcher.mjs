import { open as openFloor } from './floor.mjs'

/**
 * The floor over the dispatcher below `fetch`, which the SDK uses in a process that uses `fetch`: the lower
 * limit for such a client.
 */
export function open(settings) {
  return openFloor(settings, { over: 'dispatcher' })
}
