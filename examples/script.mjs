// A script that sends a few events and ends: TRACKPOST_WRITE_KEY=... node script.mjs
import Analytics from 'trackpost' // or: import { Analytics } from 'trackpost'

const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
  host: process.env.TRACKPOST_HOST,
})

analytics.identify({
  userId: 'user-1042',
  traits: { name: 'Zoë Åström', email: 'zoe@example.com', plan: 'team' },
})

analytics.track({
  userId: 'user-1042',
  event: 'Report Exported',
  properties: { format: 'pdf', pages: 12 },
})

// Sends the queued events and returns the result. Without this line, the events would be sent when the script has nothing left
// to do, but nobody would notice a failure.
const { delivered, failed } = await analytics.closeAndFlush()

console.log(`delivered: ${delivered}, failed: ${failed}`)
process.exitCode = failed === 0 ? 0 : 1
