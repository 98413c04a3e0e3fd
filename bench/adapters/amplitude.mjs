import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeKey } from './index.mjs'

export const defaultsNote = 'sends on a timer, not at a count'
export const confirmNote =
  'has no callback and no `flushAt`: `track(...).promise` is awaited after a `flush()`'

const require = createRequire(import.meta.url)

export async function open({ url, flushAt, isDefault }) {
  const { createInstance } = require('@amplitude/analytics-node')
  const amplitude = createInstance()
  const serverUrl = `${url}/2/httpapi`
  await amplitude.init(writeKey, { serverUrl, flushQueueSize: isDefault ? 15 : flushAt }).promise
  const track = ({ userId, event, properties }) => amplitude.track(event, properties, { user_id: userId })
  let last
  return {
    track(event) {
      last = track(event)
    },
    async confirm(event) {
      const { promise } = track(event)
      amplitude.flush()
      await promise
    },
    async close() {
      // Events are sent in order, so only the promise of the last event is awaited. A flush that begins during another flush
      // does nothing, so flush is called repeatedly.
      let isDelivered = false
      last?.promise.then(() => {
        isDelivered = true
      })
      while (last && !isDelivered) {
        await amplitude.flush().promise
        await sleep(5)
      }
    },
  }
}
