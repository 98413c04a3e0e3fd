import Analytics from 'trackpost'

const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  host: process.env.TRACKPOST_HOST,
})
analytics.track({ userId: 'user-1042', event: 'Café Opened', properties: { module: 'default.mjs' } })
const summary = await analytics.closeAndFlush()
console.log(JSON.stringify({ ...summary, version: analytics.VERSION }))
