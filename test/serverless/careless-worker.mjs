// A Worker for a test: requests whose orderId begins with "careless" end before their events are sent. The other
// requests wait for their events.
import { env } from 'cloudflare:workers'
import { Analytics } from 'trackpost'

const settings = {
  writeKey: env.TRACKPOST_WRITE_KEY,
  host: env.TRACKPOST_HOST,
  flushAt: 1,
  httpRequestTimeout: 300,
}
const analytics = new Analytics(settings)

export default {
  async fetch(request) {
    const { orderId } = await request.json()
    analytics.track({ userId: 'usr_Zoë', event: 'Order Completed', properties: { orderId } })
    if (orderId.startsWith('careless')) return new Response()
    const summary = await analytics.flush()
    return Response.json({ summary, stats: analytics.stats })
  },
}
