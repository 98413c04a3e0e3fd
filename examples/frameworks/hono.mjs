// Hono on Node.js. To run it: TRACKPOST_WRITE_KEY=... PORT=8080 node hono.mjs
//
// Every event that is tracked during a request gets the user, the IP address and the page of this request.
import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { Hono } from 'hono'
import { Analytics } from 'trackpost'
import { currentScope, requestScope, runWithScope } from 'trackpost/scope'

const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
  host: process.env.TRACKPOST_HOST,
  scope: currentScope,
})

const app = new Hono()
// A Fetch `Request` does not contain the IP address of its client, so the server has to add it.
// Behind a proxy: { ip, trustProxy: 1 }.
app.use((c, next) => runWithScope(requestScope(c.req.raw, { ip: getConnInfo(c).remote.address }), next))
// Scopes can be nested: this one adds the user.
app.use((c, next) => runWithScope({ userId: c.req.header('X-User-Id') }, next))

app.post('/orders', async (c) => {
  const order = await c.req.json()
  await placeOrder(order)
  return c.json({ placed: order.orderId })
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

const server = serve(
  { fetch: app.fetch, port: Number(process.env.PORT ?? 8080), hostname: '127.0.0.1' },
  ({ port }) => {
    console.log(`listening on http://127.0.0.1:${port}`)
  },
)

for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, stop)

async function stop() {
  // First wait for the open requests, then send the events.
  await new Promise((resolve) => server.close(resolve))
  await analytics.closeAndFlush({ timeout: 8_000 })
}
