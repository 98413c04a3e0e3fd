const Analytics = require('trackpost').default

const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  host: process.env.TRACKPOST_HOST,
})
analytics.track({ userId: 'user-1042', event: 'Café Opened', properties: { module: 'default.cjs' } })
analytics.closeAndFlush().then((summary) => {
  console.log(JSON.stringify({ ...summary, version: analytics.VERSION }))
})
