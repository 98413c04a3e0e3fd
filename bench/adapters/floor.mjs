import { Floor } from '../floor.mjs'
import { writeKey } from './index.mjs'

export async function open({ url, flushAt }) {
  const floor = new Floor({ url, writeKey, flushAt })
  return {
    track: (event) => floor.track(event),
    confirm: (event) => new Promise((resolve) => floor.track(event, resolve)),
    flush: () => floor.flush(),
    close: () => floor.flush(),
  }
}
