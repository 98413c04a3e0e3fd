import { writeKey } from './index.mjs'

export const defaultsNote = 'compresses with gzip by default'

export async function open({ url, flushAt, isDefault, maxWaiting }) {
  const { default: Analytics } = await import('@rudderstack/rudder-sdk-node')
  const settings = isDefault
    ? { dataPlaneUrl: url, flushAt: 15 }
    : { dataPlaneUrl: url, flushAt, gzip: false, maxInternalQueueSize: maxWaiting ?? 1_000_000 }
  const analytics = new Analytics(writeKey, settings)
  // A flush sends only one batch, so a long queue needs several flushes.
  const flush = async () => {
    while (analytics.queue.length > 0) await analytics.flush()
    await analytics.pendingFlush
  }
  return {
    track: (event) => analytics.track(event),
    confirm: (event) =>
      new Promise((resolve, reject) => {
        analytics.track(event, (error) => (error ? reject(error) : resolve()))
      }),
    flush,
    close: flush,
  }
}
