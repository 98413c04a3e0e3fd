import { afterAll, expect, onTestFinished } from 'vitest'
import { ClickHouse } from '../../src/destinations/clickhouse.ts'
import { clickHouseTest, ClickHouse as Server } from '../support/clickhouse.ts'
import { newEvent } from '../support/events.ts'

let started: Promise<Server> | undefined
function server(): Promise<Server> {
  if (started !== undefined) return started
  const one = new Server()
  started = one.start().then(() => one)
  return started
}
afterAll(async () => (await started)?.close())

let tables = 0

async function open() {
  const one = await server()
  const table = `events_${tables++}`
  const destination = new ClickHouse(new URL(`${one.address}/default?table=${table}`))
  onTestFinished(() => destination.close())
  return {
    destination,
    table,
    query: (text: string) => one.query(text.replaceAll('events', table)),
    server: one,
  }
}

const written = { result: 'written' }

clickHouseTest('the table is made with the first events, and has their fields', async () => {
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
      timestamp: '2026-02-03 04:05:06.000',
      received_at: '2026-02-03 04:05:06.000',
      properties: '{"total":12.5}',
      traits: '{}',
      context: '{"ip":"203.0.113.7"}',
      message: newEvent('one').body,
    },
  ])
})

clickHouseTest('an event that is written again is one event, also if its time differs', async () => {
  const { destination, query } = await open()
  await destination.write([newEvent('a'), newEvent('b'), newEvent('a', { source: 'blog' })])
  const later = { timestampMs: Date.UTC(2026, 4, 1), receivedAtMs: Date.UTC(2026, 4, 1) }
  await destination.write([newEvent('a', later), newEvent('c')])

  const rows = await query('SELECT source, message_id FROM events FINAL ORDER BY 1, 2')

  expect(rows.map((row) => `${row['source']} ${row['message_id']}`)).toEqual([
    'blog a',
    'shop a',
    'shop b',
    'shop c',
  ])
})

clickHouseTest('lone surrogates, which ClickHouse refuses, become U+FFFD', async () => {
  const { destination, query } = await open()
  const odd = newEvent('odd', { userId: 'u\ud800', message: { properties: { k: '\udc00 \ud83d\ude00' } } })

  expect(await destination.write([odd])).toEqual([written])

  expect(await query('SELECT user_id, properties FROM events')).toEqual([
    { user_id: 'u\ufffd', properties: '{"k":"\ufffd \ud83d\ude00"}' },
  ])
})

clickHouseTest('what the table refuses is found, and all else is written', async () => {
  const { destination, query } = await open()
  await destination.write([newEvent('first')])
  await query("ALTER TABLE events ADD CONSTRAINT known CHECK user_id != 'nobody'")
  const batch = Array.from({ length: 20 }, (_, index) =>
    newEvent(`id-${index}`, index % 7 === 3 ? { userId: 'nobody' } : {}),
  )

  const outcomes = await destination.write(batch)

  expect(outcomes.flatMap(({ result }, index) => (result === 'refused' ? [index] : []))).toEqual([3, 10, 17])
  expect(outcomes[3]).toMatchObject({ reason: expect.stringContaining('known') })
  expect(await query('SELECT count() AS count FROM events')).toEqual([{ count: 18 }])
})

clickHouseTest('a table with other columns takes nothing until it is mended', async () => {
  const { destination, query } = await open()
  await query('CREATE TABLE events (id Int32) ENGINE = Memory')

  await expect(destination.write([newEvent('a')])).rejects.toThrow(/source/)
  await query('DROP TABLE events')
  expect(await destination.write([newEvent('a')])).toEqual([written])
  await query('DROP TABLE events')
  await expect(destination.write([newEvent('b')])).rejects.toThrow(/events_\d+/)
  expect(await destination.write([newEvent('b')])).toEqual([written])
})

clickHouseTest('a wrong password is a failure, and no event is refused', async () => {
  const { table, server: one } = await open()
  const destination = new ClickHouse(
    new URL(`clickhouse://default:wrong@127.0.0.1:${one.port}/?table=${table}`),
  )
  onTestFinished(() => destination.close())

  await expect(destination.write([newEvent('a')])).rejects.toThrow('Authentication failed')
})

clickHouseTest(
  'while the server is suspended or down, a write fails in time, and goes on afterwards',
  async () => {
    const { destination, query, server: one } = await open()
    await destination.write([newEvent('a')])

    one.pause()
    await expect(destination.write([newEvent('b')])).rejects.toThrow(/timeout/i)
    one.resume()
    await destination.write([newEvent('b')])

    await one.kill()
    await expect(destination.write([newEvent('c')])).rejects.toThrow()
    await one.start()
    await destination.write([newEvent('c')])
    expect(await query('SELECT message_id FROM events FINAL ORDER BY 1')).toHaveLength(3)
  },
)
