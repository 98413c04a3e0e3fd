// A Worker in which each request has a scope. A listener and the callbacks record the current scope.
import { env } from 'cloudflare:workers'
import { currentScope, requestScope, runWithScope } from 'trackpost/scope'
import { perRequest } from 'trackpost/workers'

const analyticsOf = perRequest({
  writeKey: env.TRACKPOST_WRITE_KEY,
  host: env.TRACKPOST_HOST,
  scope: currentScope,
})
const seen = []

export default {
  fetch(request, _, ctx) {
    if (new URL(request.url).pathname === '/seen') return Response.json(seen)
    // Outside of all scopes.
    const analytics = analyticsOf(ctx)
    analytics.on('track', () => seen.push(['listener', currentScope()?.userId]))
    const ip = request.headers.get('CF-Connecting-IP')
    return runWithScope(requestScope(request, { ip }), () =>
      runWithScope({ userId: request.headers.get('X-User-Id') }, () => handle(request, analytics)),
    )
  },
}

async function handle(request, analytics) {
  const { orderId } = await request.json()
  analytics.track({ event: 'Order Started', properties: { orderId } })
  await new Promise((resolve) => setTimeout(resolve, 10 * Math.random()))
  const { userId } = currentScope()
  analytics.track({ event: 'Order Completed', properties: { orderId } }, () => {
    seen.push(['callback', currentScope()?.userId === userId])
  })
  return Response.json({ orderId })
}
