import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeKey } from './index.mjs'
import { fivePlugins, wrap } from './segment-like.mjs'

const dist = (name) => new URL(`../../dist/${name}.js`, import.meta.url).href

/** @param {string} [from] The build to load. */
export async function open({ url, flushAt, isDefault, maxWaiting, plugins, feature }, from = dist('index')) {
  const { Analytics } = await import(from)
  const settings = { writeKey, host: url, ...(isDefault ? {} : { flushAt }) }
  if (maxWaiting) Object.assign(settings, { maxQueueSize: maxWaiting, maxQueueBytes: maxWaiting * 4096 })
  if (feature === 'gzip') settings.compress = 'gzip'
  const { currentScope, runWithScope } = feature === 'scope' ? await import(dist('scope')) : {}
  settings.scope = currentScope
  const { spool, close } = feature === 'spool' ? await openSpool() : {}
  if (spool) settings.spool = spool
  const analytics = new Analytics(settings)
  if (plugins) await analytics.register(...fivePlugins())
  await analytics.ready
  if (close) return close(analytics)
  const track = {
    context: (event, context) => analytics.track({ ...event, context }),
    with: (event, _, tracker) => tracker.track(event),
    scope: (event, context) => runWithScope({ context }, () => analytics.track(event)),
  }[feature]
  return { ...wrap(analytics), ...(track && { track: inRequests(analytics, feature, track) }) }
}

/** Closing the client removes the directory of the spool. */
async function openSpool() {
  const { FileSpool } = await import(dist('spool'))
  const directory = mkdtempSync(join(tmpdir(), 'trackpost-bench-'))
  const spool = new FileSpool(directory)
  const close = (analytics) => {
    const client = wrap(analytics)
    return {
      ...client,
      async close() {
        await client.close()
        rmSync(directory, { recursive: true, force: true })
      },
    }
  }
  return { spool, close }
}

/** Five calls have the context of the same request, as `requestScope` reads it. */
function inRequests(analytics, feature, track) {
  let calls = 0
  let context
  let tracker
  return (event) => {
    if (calls++ % 5 === 0) {
      context = {
        ip: '203.0.113.66',
        userAgent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0',
        locale: 'de-CH',
        page: { url: 'https://shop.example/fr/panier?step=4', path: '/fr/panier', search: '?step=4' },
      }
      if (feature === 'with') tracker = analytics.with({ context })
    }
    track(event, context, tracker)
  }
}
