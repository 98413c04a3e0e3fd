import { writeKey } from './index.mjs'
import { fivePlugins, wrap } from './segment-like.mjs'

export const packageName = '@segment/analytics-node'
export const specifier = packageName

export async function open({ url, flushAt, isDefault, plugins, oauth }) {
  const { Analytics } = await import(packageName)
  const settings = { writeKey, host: url, ...(isDefault ? {} : { flushAt }) }
  if (oauth) settings.oauthSettings = oauth
  const analytics = new Analytics(settings)
  if (plugins) await analytics.register(...fivePlugins())
  await analytics.ready
  return wrap(analytics)
}
