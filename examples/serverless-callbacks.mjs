// A serverless function: the platform may freeze the process as soon as the handler returns, so the handler
// waits for the outcome of its events.
import { Analytics } from 'trackpost'

// Outside the handler: later invocations use the same client and connection again.
const analytics = new Analytics({
  writeKey: process.env.WRITE_KEY,
  // Only for your own service, or for tests: without it, events are sent to the API of the region.
  host: process.env.TRACKPOST_HOST,
  // Send each event at once instead of waiting for fourteen more.
  flushAt: 1,
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

  // The order must not fail because of a lost event, but somebody should know.
  for (const error of outcomes) {
    if (error !== undefined) console.error(`not delivered: ${error.code}: ${error.message}`)
  }
  return { statusCode: 200, body: JSON.stringify({ orderId }) }
}

/** Resolves to the error, or to `undefined` when the event was delivered. */
function outcome(call) {
  return new Promise((resolve) => call((error) => resolve(error)))
}
