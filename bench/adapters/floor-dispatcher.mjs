import { open as openFloor } from './floor.mjs'

/** The floor (a minimal client) over the dispatcher of `fetch`, which the SDK also uses if its process uses `fetch`. */
export function open(settings) {
  return openFloor(settings, { over: 'dispatcher' })
}
