// A serverless function: the platform may freeze the process as soon as the handler returns, so the handler waits for the
// outcome of its events.
import { Analytics } from 'trackpost'

// Created outside the handler, so that later invocations reuse the client and its connection.
const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
  host: process.env.TRACKPOST_HOST,
})

export async function handler({ orderId, userId, total, currency }) {
  const outcomes = await Promise.all([
    outcome((callback) => {
      analytics.identify({ userId, traits: { lastOrderId: orderId } }, callback)
    }),
    outcome((callback) => {
      const properties = { orderId, total, currency }
      analytics.track({ userId, event: 'Order Completed', properties }, callback)
    }),
  ])

  // The order must not fail because of a lost event, but the loss is logged.
  for (const error of outcomes) {
    if (error !== undefined) console.error(`not delivered: ${error.code}: ${error.message}`)
  }
  return { statusCode: 200, body: JSON.stringify({ orderId }) }
}

/** Makes a call with a callback. Resolves to the error, or to `undefined` when the event was delivered. */
function outcome(call) {
  return new Promise((resolve) => call((error) => resolve(error)))
}
