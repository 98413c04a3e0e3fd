// Fastify: WRITE_KEY=... PORT=8080 node fastify.mjs
// Every event that is tracked below a request carries that request's user, address and page. No function passes them on.
import Fastify from 'fastify'
import { Analytics } from 'trackpost'
import { currentScope, requestScope, runWithScope } from 'trackpost/scope'

const analytics = new Analytics({
  writeKey: process.env.WRITE_KEY,
  // Only for a service of your own, or for tests: left out, events go to the API of the region.
  host: process.env.TRACKPOST_HOST,
  scope: currentScope,
})

const app = Fastify()
// Not onRequest: the body is parsed after it, and what comes of a stream comes outside of the scope.
// Behind a proxy: requestScope(request, { trustProxy: 1 }).
app.addHook('preValidation', (request, _reply, done) => runWithScope(requestScope(request), done))
// A scope in a scope: here it is known who it is.
app.addHook('preHandler', (request, _reply, done) => {
  runWithScope({ userId: request.headers['x-user-id'] }, done)
})
// When close() is called, after the last request has its response.
app.addHook('onClose', () => analytics.closeAndFlush({ timeout: 8_000 }))

app.post('/orders', async (request) => {
  await placeOrder(request.body)
  return { placed: request.body.orderId }
})

/** Knows nothing of requests. */
async function placeOrder({ orderId, total }) {
  analytics.track({ event: 'Order Started', properties: { orderId } })
  await charge()
  analytics.track({ event: 'Order Completed', properties: { orderId, total } })
}

/** Stands for a payment. */
function charge() {
  return new Promise((resolve) => setTimeout(resolve, 5 * Math.random()))
}

await app.listen({ port: Number(process.env.PORT ?? 8080), host: '127.0.0.1' })
console.log(`listening on http://127.0.0.1:${app.server.address().port}`)

for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => app.close())
