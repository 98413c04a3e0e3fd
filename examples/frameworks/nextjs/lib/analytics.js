import { after } from 'next/server'
import { Analytics } from 'trackpost'
import { currentScope, requestScope, runWithScope } from 'trackpost/scope'

/**
 * Returns the only client. The first call creates it, because `next build` loads this module without a write key. The client is
 * kept in `globalThis`, because Next.js bundles this module more than once.
 */
export function analytics() {
  globalThis.analytics ??= new Analytics({
    writeKey: process.env.TRACKPOST_WRITE_KEY,
    // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
    host: process.env.TRACKPOST_HOST,
    scope: currentScope,
    // The response does not wait for the events: `after` sends them once the response is finished.
    waitUntil: (promise) => after(() => promise),
  })
  return globalThis.analytics
}

/** Wraps a route handler: every event in it gets the user, the IP address and the page of the request. */
export function withScope(handler) {
  return (request, context) =>
    // A Next.js server is usually behind one proxy: the platform's, or your own.
    runWithScope(requestScope(request, { trustProxy: 1 }), () =>
      // Scopes can be nested: this one adds the user.
      runWithScope({ userId: request.headers.get('X-User-Id') }, () => handler(request, context)),
    )
}
