import { writeKey } from './index.mjs'
import { fivePlugins, wrap } from './segment-like.mjs'

export const specifier = new URL('../../dist/index.js', import.meta.url).href

/**
 * @param {string} [from] The build to load.
 * @param {object} [more] Further settings.
 */
export async function open(
  { url, flushAt, isDefault, maxWaiting, plugins, oauth },
  from = specifier,
  more = {},
) {
  const { Analytics } = await import(from)
  const settings = { writeKey, host: url, ...(isDefault ? {} : { flushAt }), ...more }
  if (maxWaiting) Object.assign(settings, { maxQueueSize: maxWaiting, maxQueueBytes: maxWaiting * 4096 })
  if (oauth) settings.oauthSettings = oauth
  const analytics = new Analytics(settings)
  if (plugins) await analytics.register(...fivePlugins())
  await analytics.ready
  return wrap(analytics)
}
