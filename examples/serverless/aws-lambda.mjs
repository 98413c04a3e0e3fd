// An AWS Lambda handler. Lambda freezes the process when the handler's promise resolves, so the handler flushes
// before that: whatever happens next, the events have arrived.
import { Analytics } from 'trackpost'

// Outside the handler: a warm function uses the same client, and its connection, again.
const analytics = new Analytics({
  writeKey: process.env.WRITE_KEY,
  // Only for a service of your own, or for tests: left out, events go to the API of the region.
  host: process.env.TRACKPOST_HOST,
})

analytics.on('error', ({ reason }) => console.error(`not delivered: ${reason.code}: ${reason.message}`))

export async function handler({ orderId, userId, total }) {
  analytics.identify({ userId, traits: { lastOrderId: orderId } })
  analytics.track({ userId, event: 'Order Completed', properties: { orderId, total } })
  analytics.track({ userId, event: 'Receipt Sent', properties: { orderId } })

  // One request for all of them. The time leaves room for the answer within the time of the function; what has
  // not arrived by then goes with the next invocation.
  await analytics.flush({ timeout: 5_000 })
  return { statusCode: 200, body: JSON.stringify({ orderId }) }
}
