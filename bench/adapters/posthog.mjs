import { writeKey } from './index.mjs'

export const defaultsNote = 'compresses with gzip by default'
export const confirmNote = 'has no callback: `captureImmediate` is awaited'

export async function open({ url, flushAt, isDefault, maxWaiting }) {
  const { PostHog } = await import('posthog-node')
  const settings = isDefault
    ? { host: url, flushAt: 15 }
    : {
        host: url,
        flushAt,
        maxBatchSize: flushAt,
        maxQueueSize: maxWaiting ?? 1_000_000,
        disableCompression: true,
      }
  const posthog = new PostHog(writeKey, settings)
  const shape = ({ userId, event, properties }) => ({ distinctId: userId, event, properties })
  return {
    track: (event) => posthog.capture(shape(event)),
    confirm: (event) => posthog.captureImmediate(shape(event)),
    close: () => posthog.shutdown(60_000),
  }
}
