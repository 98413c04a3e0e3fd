import { expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '../../scripts/find-postgres.mjs'
import { natsTest, startNats } from '../support/nats.ts'
import { describeWithPostgres, startPostgres } from '../support/postgres.ts'
import { openCollector, post, track } from '../support.ts'

/** A database of a server that can be held. */
async function openServer() {
  const server = await startPostgres(findPostgres() ?? '')
  onTestFinished(() => server.close())
  return { server, store: await server.newDatabase() }
}

// A statement without a response is given up after 30 s: a close that waits for one fails by the limit of its test.
const LIMIT_MS = 25_000

describeWithPostgres('a close while PostgreSQL is silent', () => {
  test(
    'does not wait for connections that nobody uses',
    async () => {
      const { server, store } = await openServer()
      const collector = await openCollector({ store })
      expect((await post(collector, '/v1/track', track())).status).toBe(200)

      await server.pause()

      await collector.close()
    },
    LIMIT_MS,
  )

  test(
    'does not wait for events, questions and deliveries that are under way',
    async () => {
      const { server, store } = await openServer()
      const config = {
        destinations: [
          {
            name: 'Hook',
            type: 'webhook' as const,
            url: 'http://127.0.0.1:9/',
            firstDelay: 1,
            maxAttempts: 1000,
          },
        ],
      }
      const collector = await openCollector({ store, config })
      await post(collector, '/v1/track', track())

      await server.pause()
      const asked = Promise.allSettled([
        ...Array.from({ length: 5 }, () => post(collector, '/v1/track', track())),
        ...Array.from({ length: 5 }, () => fetch(`${collector.url}/api/events`)),
      ])

      await collector.close()
      await asked
    },
    LIMIT_MS,
  )

  natsTest(
    'does not wait for what a worker was writing, and the log has it still',
    async () => {
      const { server, store } = await openServer()
      const { url: log } = await startNats()
      const config = { log: { maxBytes: 50_000_000 } }
      const front = await openCollector({ log, config })
      const worker = await openCollector({ log, work: true, store, config })

      await server.pause()
      expect((await post(front, '/v1/track', track())).status).toBe(200)
      await worker.close()

      await server.resume()
      const next = await openCollector({ log, work: true, store, config })
      expect(await next.waitFor({ timeout: 20_000 })).toHaveLength(1)
    },
    LIMIT_MS,
  )
})
