import pg from 'pg'
import { afterAll, expect, onTestFinished } from 'vitest'
import { Postgres } from '../../src/destinations/postgres.ts'
import { newEvent } from '../support/events.ts'
import { type PostgresServer, postgresTest, startPostgres } from '../support/postgres.ts'

let started: Promise<PostgresServer> | undefined
const server = () => {
  started ??= startPostgres()
  return started
}
afterAll(async () => (await started)?.close())

async function open(parameters = '', database = server().then((one) => one.newDatabase())) {
  const address = await database
  const destination = new Postgres(new URL(`${address}${parameters}`))
  const client = new pg.Client({ connectionString: address })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(async () => {
    await destination.close()
    await client.end()
  })
  const query = async (text: string) => (await client.query(text)).rows
  return { address, destination, query }
}

const written = { result: 'written' }

postgresTest('the table is made with the first events, and has their fields', async () => {
  const { destination, query } = await open()

  expect(await destination.write([newEvent('one')])).toEqual([written])

  expect(await query('SELECT * FROM events')).toEqual([
    {
      source: 'shop',
      message_id: 'one',
      type: 'track',
      event: 'Órder “paid”',
      user_id: 'zoë',
      anonymous_id: '',
      timestamp: new Date('2026-02-03T04:05:06.000Z'),
      received_at: new Date('2026-02-03T04:05:06.000Z'),
      properties: { total: 12.5 },
      traits: {},
      context: { ip: '203.0.113.7' },
      message: JSON.parse(String(newEvent('one').body)),
    },
  ])
})

postgresTest('an event is written once, by its source and messageId', async () => {
  const { destination, query } = await open()
  const batch = [newEvent('a'), newEvent('b'), newEvent('a'), newEvent('a', { source: 'blog' })]

  await destination.write(batch)
  expect(await destination.write([...batch, newEvent('c')])).toEqual(Array(5).fill(written))

  const rows = await query('SELECT source, message_id FROM events ORDER BY 1, 2')
  expect(rows.map((row) => `${row.source} ${row.message_id}`)).toEqual([
    'blog a',
    'shop a',
    'shop b',
    'shop c',
  ])
})

postgresTest(
  'two workers that write the same events in another order do not wait for each other',
  async () => {
    const { address, destination, query } = await open()
    const other = await open('', Promise.resolve(address))
    await destination.write([newEvent('first')])
    for (let round = 0; round < 20; round++) {
      const batch = Array.from({ length: 200 }, (_, index) => newEvent(`${round}-${index}`))
      const outcomes = await Promise.all([
        destination.write(batch),
        other.destination.write(batch.toReversed()),
      ])
      expect(new Set(outcomes.flat().map(({ result }) => result))).toEqual(new Set(['written']))
    }
    expect(await query('SELECT count(*)::int AS count FROM events')).toEqual([{ count: 4001 }])
  },
)

postgresTest('U+0000 and lone surrogates, which PostgreSQL does not store, become U+FFFD', async () => {
  const { destination, query } = await open()
  const odd = newEvent('o\u0000dd', {
    userId: 'u\ud800',
    message: { properties: { 'k\u0000': ['\ud83d\ude00 \udc00'], n: 1e21 } },
  })

  expect(await destination.write([odd])).toEqual([written])

  const [row] = await query('SELECT message_id, user_id, properties FROM events')
  expect(row).toEqual({
    message_id: 'o\ufffddd',
    user_id: 'u\ufffd',
    properties: { 'k\ufffd': ['\ud83d\ude00 \ufffd'], n: 1e21 },
  })
})

postgresTest('what the table refuses is found, and all else is written', async () => {
  const { destination, query } = await open()
  await destination.write([newEvent('first')])
  await query("ALTER TABLE events ADD CHECK (user_id <> 'nobody')")
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const batch = [
    newEvent('a'),
    newEvent('b', { userId: 'nobody' }),
    newEvent('c', { body: `{"properties":${deep}}` }),
    newEvent('d', { body: 'no JSON' }),
    newEvent('e'),
  ]

  const outcomes = await destination.write(batch)

  expect(outcomes.map(({ result }) => result)).toEqual([
    'written',
    'refused',
    'refused',
    'refused',
    'written',
  ])
  expect(outcomes[1]).toMatchObject({ reason: expect.stringContaining('violates check constraint') })
  expect(await query('SELECT message_id FROM events ORDER BY 1')).toHaveLength(3)
})

postgresTest('a table of your own may have another name, a schema and more columns', async () => {
  const { destination, query } = await open('?table=own.tracked')
  await expect(destination.write([newEvent('a')])).rejects.toThrow('schema "own" does not exist')
  await query('CREATE SCHEMA own')
  await query(
    `CREATE TABLE own.tracked (source text, message_id text, type text, event text, user_id text, anonymous_id text,
      timestamp timestamptz, received_at timestamptz, properties jsonb, traits jsonb, context jsonb, message jsonb,
      loaded timestamptz DEFAULT now(), UNIQUE (message_id, source))`,
  )

  await destination.write([newEvent('a'), newEvent('a')])

  expect(await query('SELECT message_id FROM own.tracked WHERE loaded IS NOT NULL')).toEqual([
    { message_id: 'a' },
  ])
})

postgresTest('a table with other columns takes nothing until it is mended', async () => {
  const { destination, query } = await open()
  await query('CREATE TABLE events (id int)')

  await expect(destination.write([newEvent('a')])).rejects.toThrow('column "source" does not exist')
  await query('DROP TABLE events')
  expect(await destination.write([newEvent('a')])).toEqual([written])
  await query('DROP TABLE events')
  await expect(destination.write([newEvent('b')])).rejects.toThrow('relation "events" does not exist')
  expect(await destination.write([newEvent('b')])).toEqual([written])
})

postgresTest(
  'while the server is suspended or down, a write fails in time, and goes on afterwards',
  async () => {
    const { destination, query } = await open()
    await destination.write([newEvent('a')])
    const { pause, resume, kill, restart } = await server()

    await pause()
    await expect(destination.write([newEvent('b')])).rejects.toThrow('timeout')
    await resume()
    await destination.write([newEvent('b')])
    expect(await query('SELECT message_id FROM events ORDER BY 1')).toHaveLength(2)

    await kill()
    await expect(destination.write([newEvent('c')])).rejects.toThrow()
    await restart()
    await destination.write([newEvent('c')])
  },
)
