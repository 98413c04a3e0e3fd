import { writeKey } from './index.mjs'
import { fivePlugins, wrap } from './segment-like.mjs'

export async function open({ url, flushAt, isDefault, plugins }) {
  const { Analytics } = await import('@customerio/cdp-analytics-node')
  const analytics = new Analytics({
    writeKey,
    host: url,
    ...(isDefault ? {} : { maxEventsInBatch: flushAt }),
  })
  if (plugins) await analytics.register(...fivePlugins())
  await analytics.ready
  const { flush: _, ...client } = wrap(analytics)
  return client
}
