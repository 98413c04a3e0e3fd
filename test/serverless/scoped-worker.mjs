// A Worker in which each request has a scope. A listener and the callbacks record the current scope.
import { env, waitUntil } from 'cloudflare:workers'
import { Analytics } from 'trackpost'
import { currentScope, requestScope, runWithScope } from 'trackpost/scope'

const analytics = new Analytics({
  writeKey: env.TRACKPOST_WRITE_KEY,
  host: env.TRACKPOST_HOST,
  scope: currentScope,
  waitUntil,
})
const seen = []
analytics.on('track', () => seen.push(['listener', currentScope()?.userId]))

export default {
  fetch(request) {
    if (new URL(request.url).pathname === '/seen') return Response.json(seen)
    const ip = request.headers.get('CF-Connecting-IP')
    const options = { ip, trustProxy: ['10.0.0.0/8', '2001:db8::/32'] }
    return runWithScope(requestScope(request, options), () =>
      runWithScope({ userId: request.headers.get('X-User-Id') }, () => handle(request)),
    )
  },
}

async function handle(request) {
  const { orderId } = await request.json()
  analytics.track({ event: 'Order Started', properties: { orderId } })
  await new Promise((resolve) => setTimeout(resolve, 10 * Math.random()))
  const { userId } = currentScope()
  analytics.track({ event: 'Order Completed', properties: { orderId } }, () => {
    seen.push(['callback', currentScope()?.userId === userId])
  })
  return Response.json({ orderId })
}
