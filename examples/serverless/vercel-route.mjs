// A route handler of Next.js on Vercel, for instance app/api/orders/route.js. The answer does not wait for the
// events: waitUntil keeps the function alive until they have arrived. With `after` of next/server it is
// `waitUntil: (promise) => after(() => promise)`.
import { waitUntil } from '@vercel/functions'
import { Analytics } from 'trackpost'

// Outside the handler: a warm function uses the same client, and its connection, again.
const analytics = new Analytics({
  writeKey: process.env.WRITE_KEY,
  // Only for a service of your own, or for tests: left out, events go to the API of the region.
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
