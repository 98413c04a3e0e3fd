// A Cloudflare Worker. The visitor gets the response at once; waitUntil keeps the request alive until the
// events have been sent.
import { env, waitUntil } from 'cloudflare:workers'
import { Analytics } from 'trackpost'

// Outside the handler, as everywhere: one client for all requests.
const analytics = new Analytics({
  writeKey: env.WRITE_KEY,
  // Only for your own service, or for tests: without it, events are sent to the API of the region.
  host: env.TRACKPOST_HOST,
  // The waitUntil of the present request.
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
