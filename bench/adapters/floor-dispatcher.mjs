import { open as openFloor } from './floor.mjs'

/** The floor over the dispatcher below `fetch`, which the SDK uses by default: the limit for that client. */
export function open(settings) {
  return openFloor(settings, { over: 'dispatcher' })
}
