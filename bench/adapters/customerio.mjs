import { writeKey } from './index.mjs'
import { fivePlugins, wrap } from './segment-like.mjs'

export const packageName = '@customerio/cdp-analytics-node'
export const specifier = packageName

export async function open({ url, flushAt, isDefault, plugins }) {
  const { Analytics } = await import(packageName)
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
