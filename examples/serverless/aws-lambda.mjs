// An AWS Lambda handler. Lambda freezes the process when the promise of the handler resolves. The handler flushes before that,
// so that the events arrive even if the process is never resumed.
import { Analytics } from 'trackpost'

// Created outside the handler, so that later invocations reuse the client and its connection.
const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
  host: process.env.TRACKPOST_HOST,
})

analytics.on('error', ({ reason }) => console.error(`not delivered: ${reason.code}: ${reason.message}`))

export async function handler({ orderId, userId, total }) {
  analytics.identify({ userId, traits: { lastOrderId: orderId } })
  analytics.track({ userId, event: 'Order Completed', properties: { orderId, total } })
  analytics.track({ userId, event: 'Receipt Sent', properties: { orderId } })

  // One request for all events. The timeout is below the 3 s that Lambda allows by default; events that have not arrived by
  // then are sent with the next invocation.
  await analytics.flush({ timeout: 2_000 })
  return { statusCode: 200, body: JSON.stringify({ orderId }) }
}
