import { analytics } from './analytics.js'

// For your own servers, started with `NEXT_MANUAL_SIG_HANDLE=true next start`. Serverless platforms do not need this: `after`
// has already waited for the events of each request.
if (process.env.NEXT_MANUAL_SIG_HANDLE) {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, async () => {
      await analytics().closeAndFlush({ timeout: 8_000 })
      process.exit(0)
    })
  }
}
