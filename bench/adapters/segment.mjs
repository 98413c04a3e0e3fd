import { writeKey } from './index.mjs'
import { fivePlugins, wrap } from './segment-like.mjs'

export async function open({ url, flushAt, isDefault, plugins }) {
  const { Analytics } = await import('@segment/analytics-node')
  const settings = { writeKey, host: url, ...(isDefault ? {} : { flushAt }) }
  const analytics = new Analytics(settings)
  if (plugins) await analytics.register(...fivePlugins())
  await analytics.ready
  return wrap(analytics)
}
