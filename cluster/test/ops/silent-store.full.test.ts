import type { Socket } from 'node:net'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openCollector, post, track } from '../../../collector/test/support.ts'
import { findPostgres } from '../../scripts/find-postgres.mjs'
import { natsTest, startNats } from '../support/nats.ts'
import { describeWithPostgres, startPostgres } from '../support/postgres.ts'

async function openServer() {
  const server = await startPostgres(findPostgres() ?? '')
  onTestFinished(() => server.close())
  return { server, store: await server.newDatabase() }
}

/** The statement has the same time limit as those of the store. A collector must close before this limit. */
async function newStatement(store: string): Promise<() => Promise<string>> {
  const client = new pg.Client({ connectionString: store, query_timeout: 30_000 })
  client.on('error', () => {})
  await client.connect()
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  onTestFinished(() => void stream.destroy())
  return () =>
    client.query('SELECT 1').then(
      () => 'the server has responded',
      () => 'a statement was given up',
    )
}

const whatIsFirst = (closed: Promise<void>, statement: Promise<string>) =>
  Promise.race([closed.then(() => 'closed'), statement])

// A test reaches this limit only if `close` waits forever.
const LIMIT_MS = 120_000

describeWithPostgres('closing a collector while PostgreSQL does not respond', () => {
  test(
    'does not wait for idle connections',
    async () => {
      const { server, store } = await openServer()
      const collector = await openCollector({ store })
      expect((await post(collector, '/v1/track', track())).status).toBe(200)
      const statement = await newStatement(store)

      await server.pause()

      const givenUp = statement()
      expect(await whatIsFirst(collector.close(), givenUp)).toBe('closed')
    },
    LIMIT_MS,
  )

  test(
    'does not wait for events, queries and deliveries in progress',
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
      const statement = await newStatement(store)

      await server.pause()
      const givenUp = statement()
      const asked = Promise.allSettled([
        ...Array.from({ length: 5 }, () => post(collector, '/v1/track', track())),
        ...Array.from({ length: 5 }, () => fetch(`${collector.url}/api/events`)),
      ])

      expect(await whatIsFirst(collector.close(), givenUp)).toBe('closed')
      await asked
    },
    LIMIT_MS,
  )

  natsTest(
    'does not wait for the current write of a worker, whose messages are still in the log',
    async () => {
      const { server, store } = await openServer()
      const { url: log } = await startNats()
      const config = { log: { maxBytes: 50_000_000 } }
      const front = await openCollector({ log, config })
      const worker = await openCollector({ log, work: true, store, config })

      const statement = await newStatement(store)

      await server.pause()
      const givenUp = statement()
      expect((await post(front, '/v1/track', track())).status).toBe(200)
      expect(await whatIsFirst(worker.close(), givenUp)).toBe('closed')

      await server.resume()
      const next = await openCollector({ log, work: true, store, config })
      expect(await next.waitFor({ timeout: 20_000 })).toHaveLength(1)
    },
    LIMIT_MS,
  )
})
