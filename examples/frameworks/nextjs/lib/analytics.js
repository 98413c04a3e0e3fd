import { after } from 'next/server'
import { Analytics } from 'trackpost'
import { currentScope, requestScope, runWithScope } from 'trackpost/scope'

/**
 * The one client. It is made with the first event, as the build loads this module without a key; and it is kept where all
 * copies of this module find it, as Next.js bundles it more than once.
 */
export function analytics() {
  globalThis.analytics ??= new Analytics({
    writeKey: process.env.WRITE_KEY,
    // Only for a service of your own, or for tests: left out, events go to the API of the region.
    host: process.env.TRACKPOST_HOST,
    scope: currentScope,
    // The response does not wait for the events, and the platform waits for them after it.
    waitUntil: (promise) => after(() => promise),
  })
  return globalThis.analytics
}

/** A route handler of which all that is tracked carries the request's user, address and page. */
export function withScope(handler) {
  return (request, context) =>
    // A server of Next.js is behind a proxy: that of the platform, or your own.
    runWithScope(requestScope(request, { trustProxy: 1 }), () =>
      // A scope in a scope: here it is known who it is.
      runWithScope({ userId: request.headers.get('X-User-Id') }, () => handler(request, context)),
    )
}
