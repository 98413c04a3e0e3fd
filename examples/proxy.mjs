// Sends events through an HTTP proxy. To run it: npm install undici, then
// TRACKPOST_WRITE_KEY=... PROXY_URL=http://proxy.internal:3128 node proxy.mjs
import { Analytics } from 'trackpost'
import { fetch, ProxyAgent } from 'undici'

const proxy = new ProxyAgent(process.env.PROXY_URL)

const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
  host: process.env.TRACKPOST_HOST,
  // Any function with the parameters of fetch can be used. It should pass on all of `request`, including `signal`.
  httpClient: (url, request) => fetch(url, { ...request, dispatcher: proxy }),
})

analytics.track({
  userId: 'user-1042',
  event: 'Report Exported',
  properties: { format: 'pdf', pages: 12 },
})

const { delivered, failed } = await analytics.closeAndFlush()
await proxy.close()

console.log(`delivered: ${delivered}, failed: ${failed}`)
process.exitCode = failed === 0 ? 0 : 1
