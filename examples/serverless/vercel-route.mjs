// A route handler of Next.js on Vercel, for instance app/api/orders/route.js. The response does not wait for
// the events: waitUntil keeps the function alive until they have arrived. With `after` of next/server, write
// `waitUntil: (promise) => after(() => promise)`.
import { waitUntil } from '@vercel/functions'
import { Analytics } from 'trackpost'

// Outside the handler: later invocations use the same client and connection again.
const analytics = new Analytics({
  writeKey: process.env.WRITE_KEY,
  // Only for your own service, or for tests: without it, events are sent to the API of the region.
  host: process.env.TRACKPOST_HOST,
  waitUntil,
})

export async function POST(request) {
  const { orderId, userId, total } = await request.json()
  analytics.identify({ userId, traits: { lastOrderId: orderId } })
  analytics.track({ userId, event: 'Order Completed', properties: { orderId, total } })
  analytics.track({ userId, event: 'Receipt Sent', properties: { orderId } })

  return Response.json({ orderId })
}
