import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { newEvent } from '../../../collector/src/conformance/new-event.ts'
import { all, sql } from '../../../collector/src/store/sql.ts'
import { Outbox } from '../../../collector/src/store/writing/outbox.ts'
import { systemClock } from '../../../collector/src/system-clock.ts'
import { Database, type Queryable, type SqlValue } from '../../src/postgres/database.ts'
import { migrate } from '../../src/postgres/migrations.ts'
import { PostgresStore } from '../../src/postgres/postgres-store.ts'
import { Retention } from '../../src/postgres/retention.ts'
import { PARTITIONED } from '../../src/postgres/schema.ts'
import { stepRunner } from '../../src/postgres/steps.ts'
import { describeWithPostgres, newDatabase } from '../support/postgres.ts'
import { connect, openPostgres, rowsOf, untilWaiting } from './open.ts'

const hook = [{ destination: 'Hook' }]
const OLD = '2020-01-01'

/** For a store that must keep the events that a test makes old. A store deletes old events soon after its start. */
const KEEPS_ALL = { retentionDays: 36_500 }

async function makeOld(client: Awaited<ReturnType<typeof connect>>): Promise<void> {
  for (const table of PARTITIONED) {
    await client.query(
      `CREATE TABLE ${table}_20200101 PARTITION OF ${table} FOR VALUES FROM ('${OLD}') TO ('2020-01-02')`,
    )
    await client.query(`UPDATE ${table} SET day = '${OLD}'`)
  }
  await client.query(`UPDATE delivery SET state = 'delivered'`)
  await client.query(`UPDATE delivery_tally SET state = 'delivered'`)
  await client.query(`UPDATE log_day SET day = '${OLD}'`)
  await client.query('UPDATE log_head SET day = NULL')
}

/** In each process, this part of the store runs every few minutes. */
function newRetention(address: string): Retention {
  const database = new Database(address)
  onTestFinished(() => database.close())
  return new Retention(database, {
    retentionDays: 30,
    maxEvents: undefined,
    dedupWindowMs: undefined,
    now: () => systemClock.now(),
    onFault: () => {},
  })
}

describeWithPostgres('background work of the store', () => {
  for (const kind of ['transaction', 'reading'] as const) {
    test(`a connection that is lost between two statements of a ${kind} does not end the process`, async () => {
      const address = await newDatabase()
      const database = new Database(address)
      onTestFinished(() => database.close())
      const client = await connect(address)
      const uncaught: unknown[] = []
      const note = (cause: unknown) => uncaught.push(cause)
      process.on('uncaughtException', note)
      onTestFinished(() => void process.off('uncaughtException', note))
      let isFirst = true

      const done = database[kind](async (connection) => {
        const [row] = await connection.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
        if (!isFirst) return 'the second time'
        isFirst = false
        await rowsOf(client, 'SELECT pg_terminate_backend($1, 10000)', [row?.pid])
        // Waits without a statement, so that the connection ends while it is idle.
        await new Promise((resolve) => setTimeout(resolve, 100))
        return connection.query('SELECT 1')
      })

      if (kind === 'reading') expect(await done).toBe('the second time')
      else await expect(done).rejects.toThrow(/connection/)
      expect(uncaught).toEqual([])
    })
  }

  test('a process can start during a backup although a partition is missing, and creates it later', async () => {
    const address = await newDatabase()
    await openPostgres(address)
    const backup = await connect(address)
    const [[name]] = (await rowsOf(
      backup,
      "SELECT max(relname::text) FROM pg_class WHERE relname ~ '^event_[0-9]{8}$'",
    )) as [[string]]
    await backup.query(`DROP TABLE ${name}`)
    await backup.query('BEGIN; SELECT count(*) FROM event')

    const { store, faults } = await openPostgres(address)
    const appended = await store.log.append([newEvent('a')])
    await backup.query('COMMIT')

    expect(appended).toMatchObject([{ status: 'accepted' }])
    await newRetention(address).run()
    expect(await rowsOf(backup, 'SELECT count(*) FROM pg_class WHERE relname = $1', [name])).toEqual([['1']])
    expect(faults).toEqual([])
  })

  test('while one process drops a day, neither the start nor the upkeep of another process waits', async () => {
    const address = await newDatabase()
    const first = await openPostgres(address, KEEPS_ALL)
    await first.store.log.append([newEvent('a', { deliveries: hook })])
    const client = await connect(address)
    await makeOld(client)
    await client.query('BEGIN; SELECT FROM log_head FOR UPDATE')
    const dropping = newRetention(address).run()
    await untilWaiting(address)

    // Neither the migration, which is a part of each start, nor the upkeep of another process waits.
    const database = new Database(address)
    onTestFinished(() => database.close())
    await migrate(database, 0)
    expect(await newRetention(address).run()).toBe(false)

    await client.query('COMMIT')
    expect(await dropping).toBe(true)
  })

  test('a store that is dropping a day closes at once, and another process drops the day', async () => {
    const address = await newDatabase()
    const first = await openPostgres(address)
    await first.store.log.append([newEvent('a', { deliveries: hook })])
    await first.store.close()
    const client = await connect(address)
    const store = await PostgresStore.open({
      address,
      retentionDays: 30,
      clock: systemClock,
      onFault: () => {},
    })
    await makeOld(client)
    await client.query('BEGIN; SELECT FROM log_head FOR UPDATE')
    store.start({ committed() {}, cleared() {}, changed() {} })
    await untilWaiting(address)

    // Closes the store while another connection still has the lock.
    await store.close()

    await client.query('COMMIT')
    await expect.poll(() => newRetention(address).run()).toBe(true)
    expect(await rowsOf(client, 'SELECT * FROM total')).toEqual([])
  })

  test('events that clear() deletes between the two steps of dropping a day are subtracted from the counts once', async () => {
    const address = await newDatabase()
    const { store } = await openPostgres(address, KEEPS_ALL)
    await store.log.append([1, 2, 3].map((nth) => newEvent(`old-${nth}`, { deliveries: hook })))
    const client = await connect(address)
    await makeOld(client)
    for (const table of PARTITIONED)
      await client.query(`ALTER TABLE ${table} DETACH PARTITION ${table}_20200101`)

    await store.clear()
    await store.log.append([newEvent('new', { deliveries: hook })])
    expect(await newRetention(address).run()).toBe(true)

    expect((await store.totals()).events.map(({ count }) => count)).toEqual([1])
    expect(await rowsOf(client, 'SELECT state, count FROM delivery_tally')).toEqual([['pending', '1']])
  })

  test('a delivery touches only one partition of the events, even if there are many, and even when it is replayed', async () => {
    const address = await newDatabase()
    const { store } = await openPostgres(address)
    await store.log.append(
      Array.from({ length: 12 }, (_, nth) => newEvent(`${nth}`, { deliveries: hook, receivedAtMs: nth })),
    )
    const database = new Database(address)
    onTestFinished(() => database.close())
    const client = database.newClient()
    await client.connect()
    onTestFinished(() => client.end())
    // The server reports the plan of each statement.
    await client.query(
      "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET client_min_messages = log",
    )
    let plans = ''
    client.on('notice', ({ message }) => {
      plans += message
    })
    const connection: Queryable = {
      query: async <T>(text: string, values: readonly SqlValue[] = []) =>
        (await client.query<T & pg.QueryResultRow>(text, [...values])).rows,
    }
    const transaction: Database['transaction'] = (run) => run(connection)
    const outbox = new Outbox(stepRunner({ ...connection, transaction }, systemClock), 'id', () => {})
    const touched = async (work: Promise<unknown>) => {
      plans = ''
      await work
      return new Set(plans.match(/\bevent_([0-9]{8}|other)\b/g)).size
    }

    for (let seq = 1; seq <= 12; seq++) {
      const claimed = await touched(outbox.claim('Hook', 1, 1_000_000))
      const tried = { eventId: `${seq}`, reason: null, attempts: 1, dueAtMs: 1_000_000 }
      const attempt = { atMs: seq, durationMs: 1, result: 'delivered' as const }
      const settled = await touched(outbox.settle('Hook', [{ ...tried, attempt, state: 'delivered' }]))
      const replayed = await touched(outbox.replay('Hook', `${seq}`))
      expect([claimed, settled, replayed]).toEqual([1, 1, 1])
      await outbox.settle('Hook', [{ ...tried, state: 'failed' }])
    }
  })

  test('a process that stops while it settles deliveries does not block the others for long', async () => {
    const database = new Database(await newDatabase())
    onTestFinished(() => database.close())
    await migrate(database, 1)

    const [limits] = await stepRunner(database, systemClock).write(() =>
      all<{ idle: string; lock: string }>(
        sql`SELECT current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('lock_timeout') AS lock`,
      ),
    )

    expect(limits).toEqual({ idle: '5s', lock: '10s' })
  })

  test('the date format of the database does not matter', async () => {
    const address = await newDatabase()
    const client = await connect(address)
    await client.query(`ALTER DATABASE ${new URL(address).pathname.slice(1)} SET datestyle = 'German'`)

    const { store, faults } = await openPostgres(address)
    await store.log.append([newEvent('a', { deliveries: hook })])
    const { events } = await store.reader.ask('events', {
      search: { kind: 'and', parts: [] },
      order: 'newest',
      isFull: true,
      limit: 10,
    })
    await makeOld(client)

    expect(events).toMatchObject([{ messageId: 'a', destinations: [{ name: 'Hook' }] }])
    expect(await newRetention(address).run()).toBe(true)
    expect(faults).toEqual([])
  })

  test('a database that cannot store all characters is refused with a clear message', async () => {
    const address = new URL(await newDatabase())
    const client = await connect(String(address))
    const name = `${address.pathname.slice(1)}_latin`
    await client.query(
      `CREATE DATABASE ${name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
    )
    address.pathname = name

    await expect(openPostgres(String(address))).rejects.toThrow(
      /encoding of the database is LATIN1, and UTF8/,
    )
  })
})
