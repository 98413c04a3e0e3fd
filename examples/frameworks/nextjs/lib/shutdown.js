import { analytics } from './analytics.js'

// For servers of your own, started as NEXT_MANUAL_SIG_HANDLE=true next start. A platform for functions needs none of it:
// `after` has seen to the events of each request.
if (process.env.NEXT_MANUAL_SIG_HANDLE) {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, async () => {
      await analytics().closeAndFlush({ timeout: 8_000 })
      process.exit(0)
    })
  }
}
