// A Cloudflare Worker. The visitor gets the response at once; `waitUntil` keeps the request running until the events are sent.
import { env } from 'cloudflare:workers'
import { perRequest } from 'trackpost/workers'

// Made outside the handler: the clients of all requests share access tokens, and what they have learnt about the service.
const analyticsOf = perRequest({
  writeKey: env.TRACKPOST_WRITE_KEY,
  // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
  host: env.TRACKPOST_HOST,
})

export default {
  async fetch(request, _, ctx) {
    // The client of this request, which calls `ctx.waitUntil`.
    const analytics = analyticsOf(ctx)
    const { orderId, userId, total } = await request.json()
    analytics.identify({ userId, traits: { lastOrderId: orderId } })
    analytics.track({ userId, event: 'Order Completed', properties: { orderId, total } })
    analytics.track({ userId, event: 'Receipt Sent', properties: { orderId } })

    return Response.json({ orderId })
  },
}
