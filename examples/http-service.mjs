// A service that loses no event when it is stopped: TRACKPOST_WRITE_KEY=... PORT=8080 node http-service.mjs
import { createServer } from 'node:http'
import { Analytics } from 'trackpost'

const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
  host: process.env.TRACKPOST_HOST,
})

// Each event that is not delivered is reported here, with the reason.
analytics.on('error', ({ reason }) => console.error(`not delivered: ${reason.code}: ${reason.message}`))

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost')
  // Returns at once and sends the event later: the visitor does not wait for it.
  analytics.page({
    anonymousId: request.headers['x-visitor-id'] ?? 'unknown-visitor',
    properties: { path: pathname },
    context: { userAgent: request.headers['user-agent'] },
  })
  response.end(`You are looking at ${pathname}\n`)
})

server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`)
})

for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, stop)

async function stop() {
  // First wait for the open requests: they may still track events.
  await new Promise((resolve) => {
    server.close(resolve)
    // Node.js 18 and older leave idle connections open.
    server.closeIdleConnections?.()
  })
  // Then send the events. The timeout must be below the time that your platform allows between SIGTERM and SIGKILL.
  const { failed } = await analytics.closeAndFlush({ timeout: 8_000 })

  // No process.exit(): nothing keeps the process alive any more.
  process.exitCode = failed === 0 ? 0 : 1
}
