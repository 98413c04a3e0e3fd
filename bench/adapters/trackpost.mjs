import { channel } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeKey } from './index.mjs'
import { fivePlugins, wrap } from './segment-like.mjs'

export const specifier = new URL('../../dist/index.js', import.meta.url).href

const CHANNELS = ['accepted', 'request', 'response', 'outcome', 'pause']

/**
 * @param {string} [from] The build to load.
 * @param {object} [more] More settings of the client.
 */
export async function open(
  { url, flushAt, isDefault, maxWaiting, plugins, oauth, feature },
  from = specifier,
  more = {},
) {
  const { Analytics } = await import(from)
  const settings = { writeKey, host: url, ...(isDefault ? {} : { flushAt }), ...more }
  if (maxWaiting) Object.assign(settings, { maxQueueSize: maxWaiting, maxQueueBytes: maxWaiting * 4096 })
  if (oauth) settings.oauthSettings = oauth
  if (feature === 'gzip') settings.compress = 'gzip'
  if (feature === 'channels') subscribeOnce()
  const { spool, close } = feature?.startsWith('spool ') ? await openSpool(feature.slice(6)) : {}
  if (spool) settings.spool = spool
  const analytics = new Analytics(settings)
  if (plugins) await analytics.register(...fivePlugins())
  await analytics.ready
  if (close) return close(analytics)
  return feature === 'with' ? wrapScope(analytics) : wrap(analytics)
}

/** Closing the client removes the directory of the spool and, with BENCH_SYNCS, prints the number of syncs. */
async function openSpool(sync) {
  const { FileSpool } = await import(new URL('../../dist/spool.js', import.meta.url).href)
  const directory = mkdtempSync(join(tmpdir(), 'trackpost-bench-'))
  const spool = new FileSpool({ directory, sync, maxBytes: 1_073_741_824 })
  const close = (analytics) => {
    const client = wrap(analytics)
    return {
      ...client,
      async close() {
        await client.close()
        if (process.env.BENCH_SYNCS) console.error(`sync '${sync}': ${spool.stats.syncs} syncs`)
        rmSync(directory, { recursive: true, force: true })
      },
    }
  }
  return { spool, close }
}

/** Subscribes to each channel only once, although the warm-up and the measurement each open a client. */
function subscribeOnce() {
  for (const name of CHANNELS) {
    if (!channel(`trackpost:${name}`).hasSubscribers) channel(`trackpost:${name}`).subscribe(() => {})
  }
}

function wrapScope(analytics) {
  const scope = analytics.with({ context: { app: { name: 'shop' } } })
  return { ...wrap(analytics), track: (event) => scope.track(event) }
}
