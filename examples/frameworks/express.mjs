// Express. To run it: TRACKPOST_WRITE_KEY=... PORT=8080 node express.mjs
//
// Every event that is tracked during a request gets the user, the IP address and the page of this request.
import express from 'express'
import { Analytics } from 'trackpost'
import { currentScope, requestScope, runWithScope } from 'trackpost/scope'

const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
  host: process.env.TRACKPOST_HOST,
  scope: currentScope,
})

const app = express()
app.use(express.json())
// Behind a proxy: requestScope(request, { trustProxy: 1 }).
app.use((request, _response, next) => runWithScope(requestScope(request), next))
// Scopes can be nested: this one adds the user.
app.use((request, _response, next) => runWithScope({ userId: request.get('X-User-Id') }, next))

app.post('/orders', async (request, response) => {
  await placeOrder(request.body)
  response.json({ placed: request.body.orderId })
})

/** This function gets no request: the scope adds the user, the address and the page to its events. */
async function placeOrder({ orderId, total }) {
  analytics.track({ event: 'Order Started', properties: { orderId } })
  await charge()
  analytics.track({ event: 'Order Completed', properties: { orderId, total } })
}

/** Stands in for a payment. */
function charge() {
  return new Promise((resolve) => setTimeout(resolve, 5 * Math.random()))
}

const server = app.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`)
})

for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, stop)

async function stop() {
  // First wait for the open requests, then send the events.
  await new Promise((resolve) => server.close(resolve))
  await analytics.closeAndFlush({ timeout: 8_000 })
}
