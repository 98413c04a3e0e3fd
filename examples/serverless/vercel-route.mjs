// A route handler of Next.js on Vercel, for instance app/api/orders/route.js. The response does not wait for the events:
// `waitUntil` keeps the function alive until the events have arrived. To use `after` from next/server instead, write
// `waitUntil: (promise) => after(() => promise)`.
import { waitUntil } from '@vercel/functions'
import { Analytics } from 'trackpost'

let client

/** Returns the only client. The first call makes it, because `next build` loads this module without a write key. */
function getAnalytics() {
  client ??= new Analytics({
    writeKey: process.env.TRACKPOST_WRITE_KEY,
    // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
    host: process.env.TRACKPOST_HOST,
    waitUntil,
  })
  return client
}

export async function POST(request) {
  const { orderId, userId, total } = await request.json()
  const analytics = getAnalytics()
  analytics.identify({ userId, traits: { lastOrderId: orderId } })
  analytics.track({ userId, event: 'Order Completed', properties: { orderId, total } })
  analytics.track({ userId, event: 'Receipt Sent', properties: { orderId } })

  return Response.json({ orderId })
}
