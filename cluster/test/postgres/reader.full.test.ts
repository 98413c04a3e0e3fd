import { expect, onTestFinished, test } from 'vitest'
import { parseSearch } from '../../../collector/src/search/parse.ts'
import { EVENT_VOCABULARY, EVERYTHING } from '../../../collector/src/search/syntax.ts'
import type { Cursor } from '../../../collector/src/store/ports.ts'
import { Database } from '../../src/postgres/database.ts'
import { migrate } from '../../src/postgres/migrations.ts'
import { PostgresReader } from '../../src/postgres/reader.ts'
import { describeWithPostgres, newDatabase } from '../support/postgres.ts'

async function openDatabase(): Promise<Database> {
  const database = new Database(await newDatabase())
  onTestFinished(() => database.close())
  await migrate(database, 1)
  return database
}

async function addEvents(database: Database, count: number): Promise<void> {
  await database.query("INSERT INTO source (name) VALUES ('shop')")
  await database.query(
    `INSERT INTO event (day, seq, source_id, status, kind, name, user_id, message_id, received_at, timestamp, body)
     SELECT '2024-01-01', n, 1, 1, 'track', 'E', CASE WHEN n % 4000 = 0 THEN 'rare' ELSE 'usual' END, 'm' || n, n, n,
       json_build_object('properties', json_build_object('n', n % 4000))
     FROM generate_series(1, $1) AS n`,
    [count],
  )
  await database.query("INSERT INTO log_day VALUES (1, '2024-01-01')")
  await database.query('UPDATE log_head SET last_seq = $1', [count])
}

describeWithPostgres('the reader of PostgreSQL', () => {
  test.each(['newest', 'oldest'] as const)(
    'a search that runs out of time returns a cursor, and all its pages together have every event, %s first',
    async (order) => {
      const database = await openDatabase()
      await addEvents(database, 40_000)
      // The time limit is 0, so each query reads only one slice of the events.
      const reader = new PostgresReader(database, () => 0, null, 0)
      const search = parseSearch('properties.n:0', EVENT_VOCABULARY)
      const seqs: number[] = []
      let cursor: Cursor | null | undefined
      let cut = 0
      while (cursor !== null) {
        const page = await reader.ask('events', {
          search,
          order,
          limit: 3,
          isFull: false,
          ...(cursor && { cursor }),
        })
        seqs.push(...page.events.map(({ seq }) => seq))
        if (!page.isComplete) {
          cut++
          expect(page.searchedTo).not.toBeNull()
        }
        cursor = page.next
      }

      const all = Array.from({ length: 10 }, (_, index) => (index + 1) * 4000)
      expect(seqs).toEqual(order === 'oldest' ? all : all.toReversed())
      expect(cut).toBeGreaterThan(2)
    },
  )

  test('a count that runs out of time can continue from its cursor', async () => {
    const database = await openDatabase()
    await addEvents(database, 40_000)
    const reader = new PostgresReader(database, () => 0, null, 0)
    let total = 0
    let turns = 0
    let cursor: Cursor | null | undefined
    while (cursor !== null) {
      const { count, next } = await reader.ask('count', { search: EVERYTHING, ...(cursor && { cursor }) })
      total += count
      turns++
      cursor = next
    }

    expect(total).toBe(40_000)
    expect(turns).toBeGreaterThan(2)
  })

  test('a page of users ends when the time is over, and the pages together have each user once', async () => {
    const database = await openDatabase()
    await addEvents(database, 20_000)
    const reader = new PostgresReader(database, () => 0, null, 0)
    const ids: string[] = []
    let cursor: Cursor | null | undefined
    while (cursor !== null) {
      const { users, next } = await reader.ask('users', { q: '', limit: 10, ...(cursor && { cursor }) })
      ids.push(...users.map(({ id }) => id))
      cursor = next
    }

    expect(ids.toSorted()).toEqual(['rare', 'usual'])
  })

  test('long queries do not delay writes', async () => {
    const database = await openDatabase()
    const other = database.newClient()
    await other.connect()
    onTestFinished(() => other.end())
    await other.query('SELECT pg_advisory_lock(1)')
    const slow = Array.from({ length: 20 }, () =>
      database.reading((sql) => sql.query('SELECT pg_advisory_xact_lock_shared(1)')),
    )

    await database.query("INSERT INTO source (name) VALUES ('shop')")
    await database.transaction((sql) => sql.query('SELECT 1'))

    await other.query('SELECT pg_advisory_unlock(1)')
    expect(await Promise.all(slow)).toHaveLength(20)
  })

  test('a page of large messages ends early, and the next page continues', async () => {
    const database = await openDatabase()
    await addEvents(database, 150)
    await database.query("UPDATE event SET body = json_build_object('pad', repeat('x', 30000))")
    const reader = new PostgresReader(database, () => 0, null)
    const seqs: number[] = []
    let pages = 0
    let cursor: Cursor | null | undefined
    while (cursor !== null) {
      const query = { search: EVERYTHING, order: 'newest', limit: 1000, isFull: true } as const
      const page = await reader.ask('events', { ...query, ...(cursor && { cursor }) })
      seqs.push(...page.events.map(({ seq }) => seq))
      pages++
      cursor = page.next
    }

    expect(seqs).toEqual(Array.from({ length: 150 }, (_, index) => 150 - index))
    expect(pages).toBe(3)
  })

  test('a cancelled query ends before its next statement, and loses no connection', async () => {
    const database = await openDatabase()
    await addEvents(database, 10)
    const statements: string[] = []
    const reader = new PostgresReader(
      {
        reading: (run) =>
          database.reading((sql) =>
            run({
              query: (text, values) => {
                statements.push(text)
                gone.abort(new Error('the client has gone'))
                return sql.query(text, values)
              },
            }),
          ),
      },
      () => 0,
      null,
    )
    const gone = new AbortController()

    await expect(reader.ask('count', { search: EVERYTHING }, gone.signal)).rejects.toThrow(
      'the client has gone',
    )

    expect(statements).toHaveLength(1)
    expect(await database.reading((sql) => sql.query('SELECT 1 AS one'))).toEqual([{ one: 1 }])
  })

  test('a query cannot change anything, and a failed one loses no connection', async () => {
    const database = await openDatabase()
    const backend = () =>
      database.reading((sql) => sql.query<{ pid: number }>('SELECT pg_backend_pid() AS pid'))
    await expect(
      database.reading((sql) => sql.query("INSERT INTO source (name) VALUES ('shop')")),
    ).rejects.toThrow('read-only transaction')
    const before = await backend()

    await expect(database.reading((sql) => sql.query('SELECT 1 / 0'))).rejects.toThrow('division by zero')

    expect(await backend()).toEqual(before)
  })
})
