// Fastify. To run it: TRACKPOST_WRITE_KEY=... PORT=8080 node fastify.mjs
//
// Every event that is tracked during a request gets the user, the IP address and the page of this request.
import Fastify from 'fastify'
import { Analytics } from 'trackpost'
import { currentScope, requestScope, runWithScope } from 'trackpost/scope'

const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
  host: process.env.TRACKPOST_HOST,
  scope: currentScope,
})

const app = Fastify()
// Not the onRequest hook: after it, Fastify parses the body in stream callbacks, which run outside the scope.
// Behind a proxy: requestScope(request, { trustProxy: 1 }).
app.addHook('preValidation', (request, _reply, done) => runWithScope(requestScope(request), done))
// Scopes can be nested: this one adds the user.
app.addHook('preHandler', (request, _reply, done) => {
  runWithScope({ userId: request.headers['x-user-id'] }, done)
})
// app.close() runs this hook after the last request has its response.
app.addHook('onClose', () => analytics.closeAndFlush({ timeout: 8_000 }))

app.post('/orders', async (request) => {
  await placeOrder(request.body)
  return { placed: request.body.orderId }
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

await app.listen({ port: Number(process.env.PORT ?? 8080), host: '127.0.0.1' })
console.log(`listening on http://127.0.0.1:${app.server.address().port}`)

for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => app.close())
