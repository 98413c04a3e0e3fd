import { Floor } from '../floor.mjs'
import { writeKey } from './index.mjs'

export const specifier = new URL('../floor.mjs', import.meta.url).href

export async function open({ url, flushAt, oauth }, how = {}) {
  const floor = new Floor({ url, writeKey, flushAt, authorization: oauth && 'Bearer a-static-token', ...how })
  return {
    track: (event) => floor.track(event),
    confirm: (event) => new Promise((resolve) => floor.track(event, resolve)),
    flush: () => floor.flush(),
    close: () => floor.flush(),
  }
}
