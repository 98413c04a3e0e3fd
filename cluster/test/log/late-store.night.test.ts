import pg from 'pg'
import { expect, onTestFinished } from 'vitest'
import type { Collector } from '../../../collector/src/index.ts'
import { openCollector, post, track } from '../../../collector/test/support.ts'
import { findPostgres } from '../../scripts/find-postgres.mjs'
import { SCHEMA_LOCK, SCHEMA_VERSION } from '../../src/postgres/migrations.ts'
import { startNats, natsTest as test } from '../support/nats.ts'
import { describeWithPostgres, startPostgres } from '../support/postgres.ts'

const config = { log: { maxBytes: 50_000_000 } }
const json = async (url: string, path: string) => (await fetch(`${url}${path}`)).json()

/** A front is a process that accepts events. */
async function expectToTakeEvents(front: Collector, reason: string): Promise<void> {
  expect((await post(front, '/v1/track', track())).status).toBe(200)
  expect(await json(front.url, '/readyz')).toMatchObject({
    status: 'ready',
    parts: [
      { part: 'log', isReady: true },
      { part: 'store', isReady: false, reason: expect.stringContaining(reason) },
    ],
  })
}

describeWithPostgres('if PostgreSQL cannot be used at the start', () => {
  test('a front accepts events, reports what is unavailable, and reads from the store when it is available', async () => {
    const { url: log } = await startNats()
    const server = await startPostgres(findPostgres() ?? '')
    onTestFinished(() => server.close())
    const store = await server.newDatabase()
    await server.kill()
    const faults: string[] = []
    const front = await openCollector({ log, store, config, onFault: (what) => faults.push(what) })

    expect((await post(front, '/v1/track', track({ event: 'Early' }))).status).toBe(200)

    expect(await json(front.url, '/readyz')).toMatchObject({
      status: 'ready',
      parts: [
        { part: 'log', isReady: true },
        {
          part: 'store',
          isReady: false,
          isRequired: false,
          reason: expect.stringContaining('cannot be opened'),
        },
      ],
    })
    expect((await fetch(`${front.url}/api/events`)).status).toBe(503)
    expect((await fetch(front.url)).status).toBe(200)
    expect(faults).toContain('the store is unavailable, and is opened when it is reachable')
    await server.restart()
    await openCollector({ log, work: true, store, config })
    await expect
      .poll(async () => (await json(front.url, '/api/events?event=Early')).events?.length, {
        timeout: 30_000,
      })
      .toBe(1)
    // `/readyz` caches the state of the parts for a moment.
    await expect.poll(async () => (await json(front.url, '/readyz')).parts[1].isReady).toBe(true)
    // The front learns of changes that other processes make.
    await post(front, '/v1/track', track({ event: 'Late' }))
    await expect.poll(async () => (await json(front.url, '/api/stats')).accepted, { timeout: 30_000 }).toBe(2)
  })

  test('a worker waits for the store, and then writes the pending events of the log', async () => {
    const { url: log } = await startNats()
    const server = await startPostgres(findPostgres() ?? '')
    onTestFinished(() => server.close())
    const store = await server.newDatabase()
    await server.kill()

    const worker = await openCollector({ log, work: true, store, config })

    const { status, parts } = await json(worker.url, '/readyz')
    expect(status).toBe('not_ready')
    expect(parts).toMatchObject([{ part: 'log' }, { part: 'store', isReady: false, isRequired: true }])
    // The worker accepts events nevertheless, like a front without a store.
    expect((await post(worker, '/v1/track', track({ event: 'Early' }))).status).toBe(200)
    await server.restart()
    await expect
      .poll(async () => (await json(worker.url, '/api/events?event=Early')).events?.length, {
        timeout: 60_000,
      })
      .toBe(1)
    await expect.poll(async () => (await json(worker.url, '/readyz')).status).toBe('ready')
    await expect.poll(async () => (await json(worker.url, '/api/stats')).log.waiting).toBe(0)
  })

  test('a front that starts while the tables are migrated accepts events, and reads when the migration has ended', async () => {
    const { url: log } = await startNats()
    const server = await startPostgres(findPostgres() ?? '')
    onTestFinished(() => server.close())
    const store = await server.newDatabase()
    const migrating = new pg.Client({ connectionString: store })
    await migrating.connect()
    onTestFinished(() => migrating.end())
    await migrating.query('SELECT pg_advisory_lock($1)', [SCHEMA_LOCK])

    const front = await openCollector({ log, store, config })

    await expectToTakeEvents(front, 'being migrated')
    await migrating.query('SELECT pg_advisory_unlock($1)', [SCHEMA_LOCK])
    await expect
      .poll(async () => (await json(front.url, '/readyz')).parts[1], { timeout: 30_000 })
      .toMatchObject({ isReady: true })
    expect((await fetch(`${front.url}/api/events`)).status).toBe(200)
  })

  test('a front that starts among newer workers accepts events, and reports that it must be updated', async () => {
    const { url: log } = await startNats()
    const server = await startPostgres(findPostgres() ?? '')
    onTestFinished(() => server.close())
    const store = await server.newDatabase()
    const newer = new pg.Client({ connectionString: store })
    await newer.connect()
    await newer.query('CREATE TABLE migration (version integer PRIMARY KEY, applied_at timestamptz NOT NULL)')
    await newer.query('INSERT INTO migration VALUES ($1, now())', [SCHEMA_VERSION + 1])
    await newer.end()

    const front = await openCollector({ log, store, config })

    await expectToTakeEvents(front, 'update this collector')
    // A process that would write to the tables does not start.
    await expect(openCollector({ log, work: true, store, config })).rejects.toThrow('update this collector')
  })

  test('a front ends when it is closed', async () => {
    const { url: log } = await startNats()
    const server = await startPostgres(findPostgres() ?? '')
    onTestFinished(() => server.close())
    const store = await server.newDatabase()
    await server.kill()
    const front = await openCollector({ log, store, config })

    await front.close()

    await expect(openCollector({ store })).rejects.toThrow('cannot be opened')
  })
})
