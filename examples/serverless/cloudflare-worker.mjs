// A Cloudflare Worker. The visitor gets the response at once; the events travel behind it, for as long as waitUntil keeps
// the request alive.
import { env, waitUntil } from 'cloudflare:workers'
import { Analytics } from 'trackpost'

// Outside the handler, as everywhere: one client for all requests.
const analytics = new Analytics({
  writeKey: env.WRITE_KEY,
  // Only for a service of your own, or for tests: left out, events go to the API of the region.
  host: env.TRACKPOST_HOST,
  // That of the request that is being handled.
  waitUntil,
})

export default {
  async fetch(request) {
    const { orderId, userId, total } = await request.json()
    analytics.identify({ userId, traits: { lastOrderId: orderId } })
    analytics.track({ userId, event: 'Order Completed', properties: { orderId, total } })
    analytics.track({ userId, event: 'Receipt Sent', properties: { orderId } })

    return Response.json({ orderId })
  },
}
