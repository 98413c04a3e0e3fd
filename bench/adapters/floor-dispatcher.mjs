import { open as openFloor } from './floor.mjs'

/**
 * The floor (a minimal client) over the undici dispatcher that `fetch` uses. The SDK uses this dispatcher too in a
 * process that uses `fetch`.
 */
export function open(settings) {
  return openFloor(settings, { over: 'dispatcher' })
}
