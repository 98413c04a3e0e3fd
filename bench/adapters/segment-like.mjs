/** Returns an adapter's client for an object that has the methods of `@segment/analytics-node`. */
export function wrap(analytics) {
  return {
    track: (event) => analytics.track(event),
    confirm: (event) =>
      new Promise((resolve, reject) => {
        analytics.track(event, (error) => (error ? reject(error) : resolve()))
      }),
    flush: () => analytics.flush(),
    close: () => analytics.closeAndFlush({ timeout: 60_000 }),
  }
}

export function fivePlugins() {
  const changes = [
    ['before', (ctx) => ctx.updateEvent('context.app', 'shop')],
    ['before', (ctx) => ctx.updateEvent('properties.live', true)],
    ['enrichment', (ctx) => ctx.updateEvent('context.locale', 'fr')],
    ['enrichment', (ctx) => ctx.updateEvent('properties.tenant', 7)],
    ['enrichment', (ctx) => ctx.updateEvent('context.ip', '203.0.113.7')],
  ]
  return changes.map(([type, change], index) => ({
    name: `plugin-${index + 1}`,
    type,
    version: '1.0.0',
    isLoaded: () => true,
    load: () => Promise.resolve(),
    track(ctx) {
      change(ctx)
      return ctx
    },
  }))
}
