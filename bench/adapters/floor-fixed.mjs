import { open as openFloor } from './floor.mjs'

/** The floor with batches of exactly `flushAt` events, as other clients form them. */
export function open(settings) {
  return openFloor(settings, { grow: false })
}
