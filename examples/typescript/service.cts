// The client in TypeScript that compiles to CommonJS.
import type { Analytics, Callback, Plugin } from 'trackpost'

import trackpost = require('trackpost')

const analytics: Analytics = new trackpost.default({
  writeKey: process.env['TRACKPOST_WRITE_KEY'] ?? '',
  // `undefined` means the default.
  host: process.env['TRACKPOST_HOST'],
  maxRetries: undefined,
})

const withoutAddresses: Plugin = {
  name: 'without-addresses',
  type: 'before',
  isLoaded: () => true,
  load: async (_ctx, client: Analytics) => console.log(`loaded into ${client.VERSION}`),
  track(ctx) {
    ctx.updateEvent('context.ip', undefined)
    return ctx
  },
}

const onOutcome: Callback = (error, ctx) => {
  console.log(error === undefined ? `delivered ${ctx?.event.event}` : `${error.code}: ${error.message}`)
}

async function main(): Promise<void> {
  await analytics.register(withoutAddresses)
  const properties = { orderId: 'order-5013', total: 5800, currency: 'JPY', note: '抹茶 🍵' }
  analytics.track(
    { userId: 1042, event: 'Order Completed', properties, context: { ip: '203.0.113.7' } },
    onOutcome,
  )
  analytics.screen({ anonymousId: 'visitor-7', name: 'Basket' })
  const { delivered } = await analytics.closeAndFlush({ timeout: 5_000 })
  console.log(`${delivered} delivered, ${trackpost.Analytics === trackpost.default}`)
}

void main()
