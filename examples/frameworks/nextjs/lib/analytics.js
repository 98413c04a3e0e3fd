import { after } from 'next/server'
import { Analytics } from 'trackpost'
import { currentScope, requestScope, runWithScope } from 'trackpost/scope'

/**
 * The only client. It is created with the first event, since the build loads this module without a key. It is
 * stored where all copies of this module find it, since Next.js bundles the module more than once.
 */
export function analytics() {
  globalThis.analytics ??= new Analytics({
    writeKey: process.env.WRITE_KEY,
    // Only for your own service, or for tests: without it, events are sent to the API of the region.
    host: process.env.TRACKPOST_HOST,
    scope: currentScope,
    // The response does not wait for the events; the platform waits for them after the response.
    waitUntil: (promise) => after(() => promise),
  })
  return globalThis.analytics
}

/** A route handler in which every event gets the user, the address and the page of the request. */
export function withScope(handler) {
  return (request, context) =>
    // A server of Next.js is behind a proxy: that of the platform, or your own.
    runWithScope(requestScope(request, { trustProxy: 1 }), () =>
      // A scope in a scope: the user is known here.
      runWithScope({ userId: request.headers.get('X-User-Id') }, () => handler(request, context)),
    )
}
