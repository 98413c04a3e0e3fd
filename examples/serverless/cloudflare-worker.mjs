// A Cloudflare Worker. The visitor gets the answer at once; the events travel behind it, for as long as
// ctx.waitUntil keeps the request alive.
import { Analytics } from 'trackpost'

export default {
  async fetch(request, env, ctx) {
    // One client for each request: Workers do not let one request use the connections and timers of another.
    const analytics = new Analytics({
      writeKey: env.WRITE_KEY,
      // Only for a service of your own, or for tests: left out, events go to the API of the region.
      host: env.TRACKPOST_HOST,
      waitUntil: (promise) => ctx.waitUntil(promise),
    })

    const { orderId, userId, total } = await request.json()
    analytics.identify({ userId, traits: { lastOrderId: orderId } })
    analytics.track({ userId, event: 'Order Completed', properties: { orderId, total } })
    analytics.track({ userId, event: 'Receipt Sent', properties: { orderId } })

    return Response.json({ orderId })
  },
}
