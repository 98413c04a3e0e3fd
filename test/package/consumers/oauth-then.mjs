import { Analytics } from 'trackpost'

const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  host: process.env.TRACKPOST_HOST,
  oauthSettings: {
    clientId: 'client-1',
    keyId: 'key-1',
    clientKey: process.env.CLIENT_KEY,
    authServer: process.env.AUTH_SERVER,
  },
})
analytics.track({ userId: 'user-1042', event: 'Café Opened', properties: { module: 'oauth-then.mjs' } })
analytics.closeAndFlush().then((summary) => console.log(JSON.stringify(summary)))
