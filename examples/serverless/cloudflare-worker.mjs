// A Cloudflare Worker. The visitor gets the response at once; `waitUntil` keeps the Worker running until the events are sent.
import { env, waitUntil } from 'cloudflare:workers'
import { Analytics } from 'trackpost'

// Created outside the handler: one client for all requests.
const analytics = new Analytics({
  writeKey: env.TRACKPOST_WRITE_KEY,
  // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
  host: env.TRACKPOST_HOST,
  // Imported from cloudflare:workers. It always belongs to the current request.
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
