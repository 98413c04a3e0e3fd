import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { newEvent, newRequest } from '../../../collector/src/conformance/new-event.ts'
import { EVERYTHING } from '../../../collector/src/search/syntax.ts'
import { startCollector } from '../../../collector/src/start.ts'
import type { EventStore } from '../../../collector/src/store/event-store.ts'
import { fakeClock, openCollector, post } from '../../../collector/test/support.ts'
import { Database, WRITING_CONNECTIONS } from '../../src/postgres/database.ts'
import { migrate, SCHEMA_VERSION } from '../../src/postgres/migrations.ts'
import { Retention } from '../../src/postgres/retention.ts'
import { describeWithPostgres, newDatabase } from '../support/postgres.ts'
import { connect, openPostgres, rowsOf, untilWaiting } from './open.ts'

const hook = [{ destination: 'Hook' }]
const DAY_MS = 24 * 60 * 60 * 1000

async function bodiesOf({ reader }: EventStore): Promise<unknown[]> {
  const page = await reader.ask('events', { search: EVERYTHING, order: 'oldest', limit: 1000, isFull: true })
  return page.events
}

describeWithPostgres('the store on PostgreSQL', () => {
  test('functions that avoid scans are not compiled by the JIT', async () => {
    const address = await newDatabase()
    await openPostgres(address)

    const functions = await rowsOf(
      await connect(address),
      "SELECT proconfig AS settings FROM pg_proc WHERE 'enable_seqscan=off' = ANY (proconfig)",
    )

    expect(functions.length).toBeGreaterThan(0)
    for (const [settings] of functions) expect(settings).toContain('jit=off')
  })

  test('U+0000 and lone surrogates in any field come back as escapes, and affect no other event', async () => {
    const { store, faults } = await openPostgres(await newDatabase())
    const odd = 'a\u0000b\ud800c'
    const id = store.requests.nextId()
    const strange = newEvent(odd, {
      source: odd,
      name: odd,
      userId: odd,
      anonymousId: odd,
      body: JSON.stringify({ event: odd }),
      requestId: id,
      deliveries: [{ destination: odd }, { destination: 'Other', skippedBecause: odd }],
      sent: { added: [odd], changed: { [odd]: odd }, removed: [] },
      violations: [{ path: odd, keyword: odd, message: odd }],
    })

    const kept = await Promise.all([store.log.append([strange]), store.log.append([newEvent('plain')])])
    await store.log.append([{ ...strange }])
    await store.log.appendOnce([{ key: odd, events: [newEvent(`${odd}2`)] }])
    await store.log.appendOnce([{ key: odd, events: [newEvent(`${odd}3`)] }])
    store.requests.append(
      newRequest(id, {
        path: odd,
        userAgent: odd,
        body: odd,
        headers: { [odd]: odd },
        source: odd,
        fault: odd,
      }),
    )
    const [claimed] = await store.deliveries.claim(odd, 10, 1000)
    await store.deliveries.settle(odd, [
      { eventId: claimed?.eventId ?? '', state: 'failed', reason: odd, attempts: 1, dueAtMs: 0 },
    ])

    expect(kept.flat().map(({ status }) => status)).toEqual(['accepted', 'accepted'])
    expect(await bodiesOf(store)).toMatchObject([
      { name: 'a\\u0000b\\ud800c', userId: 'a\\u0000b\\ud800c', source: 'a\\u0000b\\ud800c', reason: null },
      { messageId: 'plain' },
      { reason: 'duplicate' },
      { messageId: 'a\\u0000b\\ud800c2' },
    ])
    await expect.poll(() => store.reader.ask('request', { id })).toMatchObject({ path: 'a\\u0000b\\ud800c' })
    expect(faults).toEqual([])
  })

  test('texts as long as a message are indexed, distinguished and counted', async () => {
    const address = await newDatabase()
    const { store } = await openPostgres(address)
    // This text compresses badly: an index would accept a long text that compresses well.
    const long = Array.from({ length: 30_000 }, (_, index) =>
      String.fromCharCode(33 + ((index * index * 31) % 89)),
    ).join('')
    const fields = { name: long, userId: long, anonymousId: long, source: long }

    await store.log.append([newEvent('a', fields), newEvent('b', { ...fields, name: `${long}!` })])
    await store.log.append([newEvent('a', fields)])

    const client = await connect(address)
    expect(await rowsOf(client, 'SELECT length(name), count FROM tally ORDER BY 1, 2')).toEqual([
      [30_000, '1'],
      [30_000, '1'],
      [30_001, '1'],
    ])
    expect((await store.totals()).events.map(({ reason, count }) => [reason, count]).sort()).toEqual([
      ['', 2],
      ['duplicate', 1],
    ])
  })

  test('an append that the database refuses does not affect the others', async () => {
    const { store } = await openPostgres(await newDatabase())
    const broken = { ...newEvent('x'), receivedAtMs: Number.NaN }

    const results = await Promise.allSettled([
      store.log.append([newEvent('a')]),
      store.log.append([newEvent('b'), broken]),
      store.log.append([newEvent('c')]),
    ])

    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await bodiesOf(store)).toMatchObject([{ messageId: 'a' }, { messageId: 'c' }])
    expect(await store.health()).toMatchObject([{ isReady: true, waiting: 0 }])
  })

  test('ids are known for the dedup window, with the hash of their content', async () => {
    // The clock is at the time of the events, since the code that deletes old ids reads it too.
    const clock = fakeClock(10_900)
    const { store } = await openPostgres(await newDatabase(), { dedupWindowMs: 1000, clock })
    const at = (receivedAtMs: number, body = '{"event":"a"}') => newEvent('a', { receivedAtMs, body })

    const kept = await store.log.append([at(10_000), at(10_500, '{"event":"b"}')])
    const again = await store.log.append([at(10_900, '{"event":"b"}'), at(10_900)])
    const late = await store.log.append([at(11_000)])

    expect(kept.map(({ reason }) => reason)).toEqual([null, 'dedup_conflict'])
    expect(again.map(({ reason }) => reason)).toEqual(['dedup_conflict', 'duplicate'])
    expect(late.map(({ reason }) => reason)).toEqual([null])
  })

  test('what events inherit from their batch is deleted with the last of them', async () => {
    const address = await newDatabase()
    const { store } = await openPostgres(address)
    const client = await connect(address)
    const left = () => rowsOf(client, 'SELECT body FROM inherited ORDER BY seq')
    const batch = (names: string[], inherited: string) => names.map((name) => newEvent(name, { inherited }))
    await store.log.append([
      ...batch(['a', 'b', 'c'], '{"context":{"n":1}}'),
      ...batch(['d', 'e'], '{"context":{"n":2}}'),
    ])
    await store.log.append(batch(['f'], '{"context":{"n":3}}'))

    expect(await store.delete(['1', '2', '4', '6'])).toBe(4)
    expect(await left()).toEqual([['{"context":{"n":1}}'], ['{"context":{"n":2}}']])
    await store.delete(['3'])
    expect(await left()).toEqual([['{"context":{"n":2}}']])
    expect(await bodiesOf(store)).toMatchObject([{ messageId: 'e', message: { context: { n: 2 } } }])
  })

  test('a wrong clock affects neither partitions nor leases', async () => {
    const address = await newDatabase()
    const clock = fakeClock()
    const { store } = await openPostgres(address, { clock })
    for (const year of [1971, 2200]) {
      clock.jump(Date.UTC(year, 0) - clock.now())
      await store.log.append([newEvent(`of ${year}`, { receivedAtMs: clock.now(), deliveries: hook })])
    }

    const [first] = await store.deliveries.claim('Hook', 1, 1000)
    clock.jump(-200 * 365 * DAY_MS)
    await store.deliveries.settle('Hook', [
      { eventId: first?.eventId ?? '', state: 'delivered', reason: null, attempts: 1, dueAtMs: 0 },
    ])

    const client = await connect(address)
    expect(await rowsOf(client, 'SELECT count(*) FROM event_other')).toEqual([['0']])
    expect(await rowsOf(client, 'SELECT DISTINCT day = current_date FROM event')).toEqual([[true]])
    expect(await store.deliveries.claim('Hook', 10, 1000)).toMatchObject([{ messageId: 'of 2200' }])
  })

  test('while all write connections are busy, queries work, and waiting events are written in the end', async () => {
    const address = await newDatabase()
    const { store } = await openPostgres(address)
    await store.log.append([newEvent('a', { deliveries: hook })])
    const client = await connect(address)
    await client.query('BEGIN; LOCK TABLE delivery IN ACCESS EXCLUSIVE MODE')

    const claims = Array.from({ length: 8 }, () => store.deliveries.claim('Hook', 1, 60_000))
    await untilWaiting(address, WRITING_CONNECTIONS)
    const appended = store.log.append([newEvent('b')])
    expect((await store.totals()).events).toMatchObject([{ count: 1 }])
    await client.query('COMMIT')

    expect((await Promise.all(claims)).flat()).toHaveLength(1)
    expect(await appended).toMatchObject([{ reason: null }])
  })

  test('partitions are created before their day, and old days are dropped as a whole, with their counts', async () => {
    const address = await newDatabase()
    const { store } = await openPostgres(address)
    const skipped = [{ destination: 'Hook', skippedBecause: 'off' }]
    await store.log.append([newEvent('old', { deliveries: skipped, requestId: store.requests.nextId() })])
    store.requests.append(newRequest(store.requests.nextId()))
    await expect.poll(async () => (await store.totals()).requests).toBe(1)
    const client = await connect(address)
    const partitions = (table: string) =>
      rowsOf(
        client,
        "SELECT right(relname, 8) FROM pg_class WHERE relkind = 'r' AND relname ~ $1 ORDER BY 1",
        [`^${table}_[0-9]{8}$`],
      ).then((rows) => rows.flat())
    const [[today, overmorrow] = []] = await rowsOf(
      client,
      "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD'), to_char(now() AT TIME ZONE 'UTC' + interval '2 days', 'YYYYMMDD')",
    )
    expect(await partitions('event')).toHaveLength(3)
    expect(await partitions('event')).toEqual(expect.arrayContaining([today, overmorrow]))
    // As if the event had been stored 31 days ago, without a partition for that day.
    for (const table of ['event', 'delivery', 'request', 'log_day', 'log_head']) {
      await client.query(`UPDATE ${table} SET day = day - 31`)
    }
    await store.log.append([newEvent('new')])

    const database = new Database(address)
    onTestFinished(() => database.close())
    const faults: unknown[] = []
    const options = {
      maxEvents: undefined,
      dedupWindowMs: undefined,
      now: () => Date.now(),
      onFault: (...told: unknown[]) => faults.push(told),
    }
    const kept = await new Retention(database, { ...options, retentionDays: 31 }).run()
    expect(kept).toBe(false)
    expect(await partitions('event')).toHaveLength(4)
    expect(await rowsOf(client, 'SELECT count(*) FROM event_other')).toEqual([['0']])
    const runs = await Promise.all(
      [1, 2].map(() => new Retention(database, { ...options, retentionDays: 30 }).run()),
    )

    expect(runs.filter(Boolean)).toHaveLength(1)
    expect(await rowsOf(client, 'SELECT message_id FROM event')).toEqual([['new']])
    expect((await store.totals()).events).toMatchObject([{ count: 1 }])
    expect((await store.totals()).requests).toBe(0)
    for (const table of ['delivery', 'delivery_tally', 'request', 'request_tally']) {
      expect(await rowsOf(client, `SELECT count(*) FROM ${table}`), table).toEqual([['0']])
    }
    expect(await rowsOf(client, 'SELECT count, name FROM tally')).toEqual([['1', 'Größe gewählt']])
    // The messageId is still known, although the event was deleted.
    expect(await store.log.append([newEvent('old')])).toMatchObject([{ reason: 'duplicate' }])
    expect(faults).toEqual([])
  })

  test('a day with pending deliveries is kept a week longer, and deliveries that are then given up are reported', async () => {
    const address = await newDatabase()
    const { store } = await openPostgres(address)
    await store.log.append([newEvent('pending', { deliveries: hook })])
    const client = await connect(address)
    const database = new Database(address)
    onTestFinished(() => database.close())
    const faults: string[] = []
    const onFault = (what: string, cause: unknown) => void faults.push(`${what}: ${(cause as Error).message}`)
    const run = async (daysOlder: number) => {
      for (const table of ['event', 'delivery', 'log_day']) {
        await client.query(`UPDATE ${table} SET day = day - ${daysOlder}::integer`)
      }
      return new Retention(database, {
        retentionDays: 30,
        maxEvents: undefined,
        dedupWindowMs: undefined,
        now: Date.now,
        onFault,
      }).run()
    }

    expect(await run(37)).toBe(false)
    expect(faults).toEqual([])
    expect(await run(1)).toBe(true)

    expect(faults).toEqual([expect.stringMatching(/^deliveries were given up: 1 deliveries of \d{4}/)])
    expect(await rowsOf(client, 'SELECT count(*) FROM delivery')).toEqual([['0']])
  })

  test('days older than the newest maxEvents events are deleted as a whole, except the current day', async () => {
    const address = await newDatabase()
    const { store } = await openPostgres(address)
    const client = await connect(address)
    for (const day of [3, 2, 1, 0]) {
      await store.log.append(Array.from({ length: 5 }, (_, index) => newEvent(`${day}-${index}`)))
      if (day === 0) break
      for (const table of ['event', 'log_day']) {
        await client.query(
          `UPDATE ${table} SET day = day - ${day}::integer WHERE day = (now() AT TIME ZONE 'UTC')::date`,
        )
      }
      await client.query('UPDATE log_head SET day = day - 1')
    }
    const database = new Database(address)
    onTestFinished(() => database.close())

    await new Retention(database, {
      retentionDays: 30,
      maxEvents: 8,
      dedupWindowMs: undefined,
      now: Date.now,
      onFault: () => {},
    }).run()

    expect(
      await rowsOf(client, 'SELECT left(message_id, 1), count(*) FROM event GROUP BY 1 ORDER BY 1'),
    ).toEqual([
      ['0', '5'],
      ['1', '5'],
    ])
  })

  test('idempotency keys of commits are deleted after some days, and messageIds at the end of the dedup window', async () => {
    const address = await newDatabase()
    const clock = fakeClock(Date.now())
    const { store } = await openPostgres(address, { clock, dedupWindowMs: 1000 })
    await store.log.append([newEvent('a', { receivedAtMs: clock.now() })])
    const client = await connect(address)
    const database = new Database(address)
    onTestFinished(() => database.close())
    const counts = async () =>
      [
        await rowsOf(client, 'SELECT count(*) FROM consumed'),
        await rowsOf(client, 'SELECT count(*) FROM seen'),
      ].flat(2)
    const run = () =>
      new Retention(database, {
        retentionDays: 30,
        maxEvents: undefined,
        dedupWindowMs: 1000,
        now: clock.now,
        onFault: () => {},
      }).run()

    await run()
    expect(await counts()).toEqual(['1', '1'])
    clock.jump(1001)
    await run()
    expect(await counts()).toEqual(['1', '0'])
    clock.jump(3 * DAY_MS)
    await run()
    expect(await counts()).toEqual(['0', '0'])
  })

  test('tables of a newer collector are refused with a clear message', async () => {
    const address = await newDatabase()
    await openPostgres(address)
    const client = await connect(address)
    await client.query('INSERT INTO migration VALUES ($1, now())', [SCHEMA_VERSION + 1])

    await expect(startCollector({ port: 0, store: address })).rejects.toThrow(
      `its tables are of version ${SCHEMA_VERSION + 1}, and this collector knows up to ${SCHEMA_VERSION}; update this collector`,
    )
  })

  test('the tables of 0.1.0 are migrated once; old events are kept, and new ones accepted', async () => {
    const address = await newDatabase()
    const { store: before } = await openPostgres(address)
    await before.log.append([newEvent('kept')])
    const databases = [new Database(address), new Database(address)]
    onTestFinished(async () => void (await Promise.all(databases.map((database) => database.close()))))

    await Promise.all(
      databases.map((database) => migrate(database, 0, ['ALTER TABLE event ADD COLUMN note text'])),
    )

    const client = await connect(address)
    expect(await rowsOf(client, 'SELECT version FROM migration ORDER BY 1')).toEqual([
      [SCHEMA_VERSION],
      [SCHEMA_VERSION + 1],
    ])
    await before.log.append([newEvent('kept'), newEvent('next')])
    expect(await rowsOf(client, 'SELECT message_id, reason, note FROM event ORDER BY seq')).toEqual([
      ['kept', null, null],
      ['kept', 'duplicate', null],
      ['next', null, null],
    ])
  })

  test('many processes that start on an empty database create its tables once', async () => {
    const address = await newDatabase()

    const stores = await Promise.all(Array.from({ length: 4 }, () => openPostgres(address)))

    const client = await connect(address)
    expect(await rowsOf(client, 'SELECT version FROM migration')).toEqual([[SCHEMA_VERSION]])
    expect(await rowsOf(client, 'SELECT openings FROM log_head')).toEqual([['4']])
    expect(new Set(stores.map(({ store }) => store.requests.nextId())).size).toBe(4)
  })

  test('processes start and append at the same time, whatever isolation the database has as its default', async () => {
    const address = await newDatabase()
    const client = await connect(address)
    const name = new URL(address).pathname.slice(1)
    await client.query(`ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`)

    const stores = await Promise.all(Array.from({ length: 4 }, () => openPostgres(address)))
    for (let round = 0; round < 20; round++) {
      await Promise.all(stores.map(({ store }, index) => store.log.append([newEvent(`${round} ${index}`)])))
    }

    expect(stores.flatMap(({ faults }) => faults)).toEqual([])
  })

  test('a collector on PostgreSQL shows neither user nor password, and accepts events', async () => {
    const address = (await newDatabase()).replace('postgres@', 'postgres:s3cret%2Fword@')
    const collector = await openCollector({ store: address })

    const response = await post(collector, '/v1/track', { userId: 'ada', event: 'Order Completed' })
    const about = await (await fetch(`${collector.url}/api/about`)).text()

    expect(response.status).toBe(200)
    expect(await collector.waitFor({ event: 'Order Completed' })).toMatchObject([{ userId: 'ada' }])
    expect(about).toMatch(/postgres:\/\/127\.0\.0\.1:\d+\/test_/)
    expect(about).not.toMatch(/s3cret|postgres@|postgres:s/)
  })
})

test('a server that is too old is refused with a clear message', async () => {
  const query = async () => [{ version: '130014' }] as never[]
  const transaction = () => Promise.reject(new Error('a transaction began on a server that is too old'))

  await expect(migrate({ query, transaction }, 1)).rejects.toThrow('PostgreSQL 13, and 14 or later is needed')
})

test('no message about an address contains its password', async () => {
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as { port: number }
  const messages: string[] = []
  for (const address of [
    `postgres://ada:s3cret@127.0.0.1:${port}/db`,
    'postgres://ada:s3cret@127.0.0.1:1/db',
    'postgres://ada:12#s3cret@127.0.0.1/db',
    'postgres://ada:12/s3cret@127.0.0.1/db',
    'postgres://ada:12?s3cret@127.0.0.1/db',
    'postgres://ada:s3cret@@/db:',
    'postgres://ada:s3cret',
  ]) {
    const { message, cause } = await startCollector({ port: 0, store: address }).then(
      () => new Error('started'),
      (error: Error) => error,
    )
    messages.push(`${message} ${JSON.stringify(cause ?? '')}`)
  }

  expect(messages.join('\n')).not.toMatch(/s3cret|ada|started/)
  expect(messages[1]).toContain('store: postgres://127.0.0.1:1/db cannot be opened (')
  expect(messages[2]).toContain('percent-encoded')
})
