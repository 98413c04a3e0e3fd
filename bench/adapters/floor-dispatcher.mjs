import { open as openFloor } from './floor.mjs'

/** The floor (a minimal client) over the dispatcher of `fetch`, as the SDK sends in a process that uses `fetch`. */
export function open(settings) {
  return openFloor(settings, { over: 'dispatcher' })
}
