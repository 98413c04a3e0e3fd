import { open as openFloor } from './floor.mjs'

/** The floor (a minimal client) with at most `flushAt` events in a batch, as in other clients. */
export function open(settings) {
  return openFloor(settings, { grow: false })
}
