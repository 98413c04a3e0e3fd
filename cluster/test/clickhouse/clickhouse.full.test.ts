import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import type { Collector } from '../../../collector/src/index.ts'
import { newDatabaseFile } from '../../../collector/test/support/process.ts'
import { fakeClock, openCollector, post, track } from '../../../collector/test/support.ts'
import {
  ClickHouse,
  clickHouseTest,
  FaultyWay,
  hasClickHouse,
  type Insert,
  PASSWORD,
} from '../support/clickhouse.ts'

const clickHouse = new ClickHouse()
beforeAll(() => (hasClickHouse ? clickHouse.start() : undefined))
afterAll(() => clickHouse.close())

let tables = 0

async function newTable() {
  const proxy = new FaultyWay(clickHouse)
  await proxy.start()
  onTestFinished(() => proxy.close())
  const table = `events_${++tables}`
  const destination = (more = {}) => ({
    name: 'Warehouse',
    type: 'clickhouse' as const,
    url: proxy.url,
    table,
    password: PASSWORD,
    interval: 0,
    firstDelay: 1,
    ...more,
  })
  const rows = <Row = Record<string, unknown>>(what = '*', rest = '') =>
    clickHouse.query<Row>(`SELECT ${what} FROM default.${table} ${rest}`)
  return { proxy, table, destination, rows }
}

async function states(collector: Collector) {
  const response = await fetch(`${collector.url}/api/destinations`)
  const { destinations } = (await response.json()) as {
    destinations: Array<{
      pending: number
      delivered: number
      failed: number
      lastError: { reason: string } | null
      failures: Array<{ reason: string }>
    }>
  }
  const [state] = destinations
  if (state === undefined) throw new Error('there is no destination')
  return state
}

async function batch(collector: Collector, events: Array<Record<string, unknown>>): Promise<void> {
  const response = await post(collector, '/v1/batch', { batch: events })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
}

const several = (count: number, fields: (index: number) => Record<string, unknown> = () => ({})) =>
  Array.from({ length: count }, (_, index) =>
    track({ messageId: `m-${String(index).padStart(5, '0')}`, ...fields(index) }),
  )

clickHouseTest(
  'events arrive in a table that was created at the start, with columns for queries',
  async () => {
    const { destination, rows, table } = await newTable()
    const collector = await openCollector({ config: { destinations: [destination()] } })
    await expect.poll(() => clickHouse.query(`EXISTS TABLE default.${table}`)).toEqual([1])

    await batch(collector, [
      {
        type: 'track',
        messageId: 'a',
        userId: 'u-1',
        event: 'Größe gewählt',
        properties: { total: 19.9, lines: [{ sku: 'x' }] },
        context: { ip: '::1' },
        timestamp: '2024-02-29T12:00:00.123Z',
      },
      {
        type: 'identify',
        messageId: 'b',
        anonymousId: 'anon',
        traits: { mail: 'a@b.example' },
        timestamp: '2024-02-29T12:00:01Z',
      },
      {
        type: 'page',
        messageId: 'c',
        userId: 'u-1',
        name: 'Start',
        timestamp: '2024-02-29T12:00:02Z',
      },
    ])
    await expect.poll(() => states(collector)).toMatchObject({ pending: 0, delivered: 3 })

    const [first, second, third] = await rows('*', 'ORDER BY message_id')
    expect(first).toMatchObject({
      key: expect.stringMatching(/^[0-9a-f]{12}-1-[0-9a-f]{16}$/),
      source: 'shop',
      type: 'track',
      event: 'Größe gewählt',
      user_id: 'u-1',
      anonymous_id: '',
      message_id: 'a',
      timestamp: '2024-02-29 12:00:00.123',
      properties: '{"total":19.9,"lines":[{"sku":"x"}]}',
      traits: '{}',
      context: '{"ip":"::1"}',
    })
    const kept = collector.events({ messageId: 'a' })[0]
    expect(JSON.parse(String(first?.['message']))).toEqual(kept?.message)
    expect(String(first?.['received_at']).replace(' ', 'T')).toBe(
      String(kept?.message?.['receivedAt']).slice(0, -1),
    )
    expect(second).toMatchObject({ anonymous_id: 'anon', user_id: '', traits: '{"mail":"a@b.example"}' })
    expect(third).toMatchObject({ type: 'page', event: 'Start' })
    expect(await rows("JSONExtractFloat(properties, 'total') AS total", "WHERE message_id = 'a'")).toEqual([
      { total: 19.9 },
    ])
  },
)

clickHouseTest('many events are sent in few requests', async () => {
  const { proxy, destination, rows } = await newTable()
  proxy.fault = () => (proxy.inserts.length <= 1 ? { kind: 'status', status: 503 } : undefined)
  const clock = fakeClock()
  const collector = await openCollector({
    clock,
    config: { destinations: [destination({ batchSize: 500 })] },
  })
  await batch(collector, several(1))
  await expect.poll(() => states(collector)).toMatchObject({ lastError: { reason: 'answered 503' } })
  // During the wait before the retry, further events arrive.
  for (let index = 0; index < 1100; index += 100) {
    await batch(
      collector,
      several(100, (one) => ({ messageId: `more-${index + one}` })),
    )
  }
  expect(proxy.inserts).toHaveLength(1)
  clock.advance(1000)

  await expect.poll(() => states(collector)).toMatchObject({ pending: 0, delivered: 1101 })
  expect(proxy.inserts.map(({ lines }) => lines.length)).toEqual([1, 500, 500, 101])
  expect(await rows('count() AS n')).toEqual([{ n: 1101 }])
})

clickHouseTest('events that follow a small request are sent together after the interval', async () => {
  const { proxy, destination } = await newTable()
  const clock = fakeClock()
  const collector = await openCollector({
    clock,
    config: { destinations: [destination({ interval: 1000 })] },
  })
  await batch(collector, several(1))
  await expect.poll(() => states(collector)).toMatchObject({ delivered: 1 })

  for (const messageId of ['x', 'y', 'z']) await batch(collector, [track({ messageId })])
  clock.advance(999)
  expect(proxy.inserts).toHaveLength(1)
  clock.advance(1)

  await expect.poll(() => states(collector)).toMatchObject({ delivered: 4 })
  expect(proxy.inserts.map(({ lines }) => lines.length)).toEqual([1, 3])
})

const deep = (depth: number) => JSON.parse(`${'['.repeat(depth)}1${']'.repeat(depth)}`)

clickHouseTest('unusual values arrive, and are unchanged in the columns that contain JSON', async () => {
  const { proxy, destination, rows } = await newTable()
  const collector = await openCollector({ config: { destinations: [destination()] } })
  const odd: Array<Record<string, unknown>> = [
    { event: 'nul\u0000byte' },
    { event: '\ud800 alone' },
    { event: '\udfff' },
    { event: 'it\'s \\ "quoted"\t\r\n`; DROP TABLE x --' },
    { userId: '👩‍👩‍👧 \u202e\ufeff\uffff' },
    { userId: 12345678901234 },
    { event: '{{a:String}} $b %s' },
    { properties: { nul: '\u0000', half: '\ud800', big: 1e308, small: 5e-324, minus: -0 } },
    { properties: { ['__proto__']: 1, constructor: 2, '': 3, 'a.b': 4 } },
    { properties: { deep: deep(50) } },
    { properties: { long: 'ä'.repeat(10_000) } },
    { timestamp: '0001-01-01T00:00:00Z' },
    { timestamp: '9999-12-31T23:59:59.999Z' },
    { timestamp: '+012345-01-01T00:00:00Z' },
    { timestamp: '1969-12-31T23:59:59.999Z' },
    { timestamp: '2016-12-31T23:59:60Z' },
    { timestamp: 'yesterday' },
    { context: { traits: { a: null } }, integrations: { Warehouse: { x: 1 } } },
  ]

  await batch(
    collector,
    odd.map((fields, index) => track({ messageId: `odd-${String(index).padStart(2, '0')}`, ...fields })),
  )
  expect(collector.events({ status: 'accepted' })).toHaveLength(odd.length)
  await expect.poll(() => states(collector)).toMatchObject({ pending: 0, delivered: odd.length, failed: 0 })

  expect(proxy.inserts).toHaveLength(1)
  const stored = await rows<Record<string, string>>('*', 'ORDER BY message_id')
  expect(stored.slice(0, 6).map(({ event, user_id }) => [event, user_id])).toEqual([
    ['nul\u0000byte', 'zoë-12'],
    ['\ufffd alone', 'zoë-12'],
    ['\ufffd', 'zoë-12'],
    [odd[3]?.['event'], 'zoë-12'],
    [expect.any(String), odd[4]?.['userId']],
    [expect.any(String), '12345678901234'],
  ])
  for (const [index, { properties, message }] of stored.entries()) {
    const kept = collector.events({ messageId: `odd-${String(index).padStart(2, '0')}` })[0]?.message
    expect(JSON.parse(message ?? '')).toEqual(kept)
    expect(JSON.parse(properties ?? '')).toEqual(kept?.['properties'])
  }
  const times = Object.fromEntries(
    odd.map(({ timestamp }, index) => [timestamp, stored[index]?.['timestamp']]),
  )
  expect(times).toMatchObject({
    '0001-01-01T00:00:00Z': '1900-01-01 00:00:00.000',
    '9999-12-31T23:59:59.999Z': '2299-12-31 23:59:59.999',
    '1969-12-31T23:59:59.999Z': '1969-12-31 23:59:59.999',
  })
})

clickHouseTest.each([
  ['in the middle', 300, (index: number) => index === 137],
  ['at the edges', 300, (index: number) => index === 0 || index === 299],
  ['all of them', 20, () => true],
])('the server refuses only the events with invalid data: %s', async (_where, count, isBad) => {
  const { proxy, table, destination, rows } = await newTable()
  const plain = await openCollector({ config: { destinations: [destination()] } })
  await expect.poll(() => clickHouse.query(`EXISTS TABLE default.${table}`)).toEqual([1])
  await plain.close()
  await clickHouse.query(`ALTER TABLE default.${table} ADD CONSTRAINT short CHECK length(user_id) < 20`)
  const collector = await openCollector({ config: { destinations: [destination({ batchSize: 300 })] } })
  const events = several(count, (index) => (isBad(index) ? { userId: 'x'.repeat(20) } : {}))
  const bad = events.filter((_, index) => isBad(index)).length

  await batch(collector, events)
  await expect
    .poll(() => states(collector))
    .toMatchObject({
      pending: 0,
      delivered: count - bad,
      failed: bad,
      failures: expect.arrayContaining([
        expect.objectContaining({ reason: 'refused: VIOLATED_CONSTRAINT', attempts: 1 }),
      ]),
    })

  expect(await rows('count() AS n')).toEqual([{ n: count - bad }])
  // One request for all events. For each invalid event, every halving adds at most two requests, one for each half.
  expect(proxy.inserts.length).toBeLessThanOrEqual(1 + bad * 2 * Math.ceil(Math.log2(count)))
})

clickHouseTest('a request that is too large for a proxy is halved until it fits', async () => {
  const { proxy, destination, rows } = await newTable()
  proxy.fault = ({ bytes }) => (bytes > 30_000 ? { kind: 'status', status: 413 } : undefined)
  const collector = await openCollector({ config: { destinations: [destination()] } })

  await batch(
    collector,
    several(64, (index) => ({ properties: { long: 'x'.repeat(index === 40 ? 20_000 : 100) } })),
  )

  await expect
    .poll(() => states(collector))
    .toMatchObject({
      pending: 0,
      delivered: 63,
      failed: 1,
      failures: [{ reason: 'answered 413' }],
    })
  expect(await rows('count() AS n')).toEqual([{ n: 63 }])
})

const once: Array<[string, (first: Insert) => ReturnType<FaultyWay['fault']>, string]> = [
  ['a 500 from a proxy', () => ({ kind: 'status', status: 500 }), 'answered 500'],
  ['a response that never ends', () => ({ kind: 'half' }), 'no answer in time'],
  ['a response that does not come', () => ({ kind: 'silence' }), 'no answer in time'],
  ['a connection that ends after the insert', () => ({ kind: 'reset after' }), 'ECONNRESET'],
]

clickHouseTest.each(once)(
  'after %s, the rows are sent again and are in the table once',
  async (_name, fault, reason) => {
    const { proxy, destination, rows } = await newTable()
    const reasons: unknown[] = []
    proxy.fault = (insert) => (proxy.inserts.length === 1 ? fault(insert) : undefined)
    const collector = await openCollector({
      config: { destinations: [destination({ timeout: 2000 })] },
      onFault: (_what, cause) => reasons.push((cause as Error).message),
    })

    await batch(collector, several(20))
    await expect.poll(() => states(collector)).toMatchObject({ pending: 0, delivered: 20, failed: 0 })

    const [first, second] = proxy.inserts
    expect(proxy.inserts).toHaveLength(2)
    expect(second).toEqual(first)
    expect(reasons).toEqual([reason === 'answered 500' ? '<html>from a proxy</html>' : reason])
    expect(await rows('count() AS n')).toEqual([{ n: 20 }])
    expect(collector.events()[0]?.destinations).toMatchObject([{ state: 'delivered', attempts: 2 }])
  },
)

const EXCEPTION = 'Code: 241. DB::Exception: Memory limit (total) exceeded. (MEMORY_LIMIT_EXCEEDED)\n'

clickHouseTest.each([
  ['an exception', EXCEPTION, 'refused: MEMORY_LIMIT_EXCEEDED'],
  ['a login page', '<html>Sign in</html>', 'answered 200, but not as ClickHouse does'],
])('a 200 with %s in its body does not count as delivered', async (_what, text, reason) => {
  const { proxy, destination, rows } = await newTable()
  const clock = fakeClock()
  proxy.fault = () => (proxy.inserts.length === 1 ? { kind: 'status', status: 200, text } : undefined)
  const collector = await openCollector({ clock, config: { destinations: [destination()] } })

  await batch(collector, several(1))
  await expect.poll(() => states(collector)).toMatchObject({ pending: 1, lastError: { reason } })
  clock.advance(1000)

  await expect.poll(() => states(collector)).toMatchObject({ pending: 0, delivered: 1, failed: 0 })
  expect(await rows('count() AS n')).toEqual([{ n: 1 }])
})

clickHouseTest('an endless response is not read to its end', async () => {
  const { proxy, destination, rows } = await newTable()
  proxy.fault = () => (proxy.inserts.length === 1 ? { kind: 'flood' } : undefined)
  const collector = await openCollector({ config: { destinations: [destination({ timeout: 10_000 })] } })

  await batch(collector, several(3))

  await expect
    .poll(() => states(collector), { timeout: 30_000 })
    .toMatchObject({ pending: 0, delivered: 3, failed: 0 })
  // The number includes the bytes in the buffers of both sides.
  expect(proxy.pouredBytes).toBeLessThan(32 * 1024 ** 2)
  expect(await rows('count() AS n')).toEqual([{ n: 3 }])
})

clickHouseTest.each([
  [252, 'TOO_MANY_PARTS'],
  [209, 'SOCKET_TIMEOUT'],
  [279, 'ALL_CONNECTION_TRIES_FAILED'],
  [439, 'CANNOT_SCHEDULE_TASK'],
])(
  'a request that an overloaded server refuses with %i %s is not split into smaller requests',
  async (code, name) => {
    const { proxy, destination, rows } = await newTable()
    const clock = fakeClock()
    expect(await clickHouse.query(`SELECT errorCodeToName(${code}) AS name`)).toEqual([{ name }])
    proxy.fault = () => (proxy.inserts.length === 1 ? { kind: 'exception', code, name } : undefined)
    const collector = await openCollector({ clock, config: { destinations: [destination()] } })

    await batch(collector, several(64))
    await expect
      .poll(() => states(collector))
      .toMatchObject({ pending: 64, lastError: { reason: `refused: ${name}` } })
    expect(proxy.inserts).toHaveLength(1)
    clock.advance(1000)

    await expect.poll(() => states(collector)).toMatchObject({ pending: 0, delivered: 64, failed: 0 })
    expect(proxy.inserts).toHaveLength(2)
    expect(await rows('count() AS n')).toEqual([{ n: 64 }])
  },
)

clickHouseTest(
  'if inserted rows are sent again together with new rows, the repeated rows are removed by their key',
  async () => {
    const { proxy, destination, rows } = await newTable()
    const clock = fakeClock()
    proxy.fault = () => (proxy.inserts.length === 1 ? { kind: 'reset after' } : undefined)
    const collector = await openCollector({ clock, config: { destinations: [destination()] } })
    await batch(collector, several(3))
    await expect.poll(() => states(collector)).toMatchObject({ lastError: { reason: 'ECONNRESET' } })

    await batch(collector, [track({ messageId: 'another' })])
    clock.advance(1000)
    await expect.poll(() => states(collector)).toMatchObject({ pending: 0, delivered: 4 })

    expect(proxy.inserts.map(({ lines }) => lines.length)).toEqual([3, 4])
    expect(await rows('count() AS n')).toEqual([{ n: 7 }])
    expect(await rows('count() AS n', 'FINAL')).toEqual([{ n: 4 }])
  },
)

clickHouseTest('with a wrong password all events wait, and the password is printed nowhere', async () => {
  const { destination, table } = await newTable()
  const said: string[] = []
  const collector = await openCollector({
    config: { destinations: [destination({ password: 'not-this-one' })] },
    onFault: (what, cause) => said.push(`${what}: ${(cause as Error).message}`),
  })

  await batch(collector, several(5))
  await expect
    .poll(() => states(collector))
    .toMatchObject({
      pending: 5,
      failed: 0,
      lastError: { reason: 'refused: AUTHENTICATION_FAILED' },
      target: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+, table default\.events_\d+$/),
    })

  // The error is logged once, although the request is repeated many times.
  expect(said).toEqual([expect.stringMatching(/^destination Warehouse: .*516.*password is incorrect/)])
  const shown = JSON.stringify([said, await states(collector), collector.events()])
  expect(shown).not.toContain('not-this-one')
  expect(await clickHouse.query(`EXISTS TABLE default.${table}`)).toEqual([0])
})

clickHouseTest.each([
  ['without a required column', 'key String, source String', 'the table has no column type'],
  [
    'with a column of another type',
    'key UInt64, source String, type String, event String, user_id String, anonymous_id String, message_id String, timestamp DateTime, received_at DateTime, properties String, traits String, context String, message String',
    'the column key is UInt64, not String',
  ],
])('a table %s is reported, and events wait until it is corrected', async (_name, columns, reason) => {
  const { table, destination, rows } = await newTable()
  await clickHouse.query(`CREATE TABLE default.${table} (${columns}) ENGINE = MergeTree ORDER BY key`)
  const collector = await openCollector({ config: { destinations: [destination()] } })
  await batch(collector, several(2))
  await expect.poll(() => states(collector)).toMatchObject({ pending: 2, lastError: { reason } })

  await clickHouse.query(`DROP TABLE default.${table}`)

  await expect.poll(() => states(collector)).toMatchObject({ pending: 0, delivered: 2, failed: 0 })
  expect(await rows('count() AS n')).toEqual([{ n: 2 }])
})

clickHouseTest('if the table is changed while events arrive, no event is given up', async () => {
  const { table, destination, rows, proxy } = await newTable()
  const collector = await openCollector({ config: { destinations: [destination()] } })
  await expect.poll(() => clickHouse.query(`EXISTS TABLE default.${table}`)).toEqual([1])
  await clickHouse.query(`ALTER TABLE default.${table} MODIFY COLUMN user_id UInt64`)

  await batch(collector, several(50))
  await expect
    .poll(() => states(collector))
    .toMatchObject({
      pending: 50,
      failed: 0,
      lastError: { reason: 'the column user_id is UInt64, not String' },
    })
  expect(proxy.inserts).toHaveLength(1)
  await clickHouse.query(`ALTER TABLE default.${table} MODIFY COLUMN user_id String`)

  await expect.poll(() => states(collector)).toMatchObject({ pending: 0, delivered: 50, failed: 0 })
  expect(await rows('count() AS n')).toEqual([{ n: 50 }])
})

clickHouseTest(
  'a table that the user has created is not changed, even if it has further columns or another engine',
  async () => {
    const { table, destination, rows } = await newTable()
    await clickHouse.query(
      `CREATE TABLE default.${table} (key FixedString(40), source LowCardinality(Nullable(String)), type String, event String, user_id Nullable(String), anonymous_id String, message_id String, timestamp DateTime('Europe/Berlin'), received_at DateTime64(6), properties String, traits String, context String, message String, day Date DEFAULT toDate(timestamp), total Float64 MATERIALIZED JSONExtractFloat(properties, 'total')) ENGINE = MergeTree ORDER BY key`,
    )
    const collector = await openCollector({ config: { destinations: [destination()] } })

    await batch(collector, [track({ timestamp: '2024-07-01T12:00:00Z' })])
    await expect.poll(() => states(collector)).toMatchObject({ delivered: 1 })

    expect(await rows('timestamp, day, total')).toEqual([
      { timestamp: '2024-07-01 14:00:00', day: '2024-07-01', total: 19.9 },
    ])
  },
)

clickHouseTest('a table that is dropped while events arrive is created again', async () => {
  const { table, destination, rows } = await newTable()
  const collector = await openCollector({ config: { destinations: [destination()] } })
  await batch(collector, several(1))
  await expect.poll(() => states(collector)).toMatchObject({ delivered: 1 })

  await clickHouse.query(`DROP TABLE default.${table}`)
  await batch(collector, [track({ messageId: 'later' })])

  await expect.poll(() => states(collector)).toMatchObject({ pending: 0, delivered: 2 })
  expect(await rows('message_id')).toEqual([{ message_id: 'later' }])
})

clickHouseTest(
  'while the server is unavailable, one batch is tried after waits that double; a user can retry all events',
  async () => {
    const { proxy, destination, rows } = await newTable()
    const clock = fakeClock()
    const collector = await openCollector({
      clock,
      config: { destinations: [destination({ firstDelay: 500, batchSize: 2 })] },
    })
    proxy.fault = () => ({ kind: 'status', status: 503 })
    await batch(collector, several(10))
    const waits: number[] = []
    for (let attempts = 1; attempts <= 9; attempts++) {
      await expect.poll(() => proxy.inserts.length).toBe(attempts)
      await expect.poll(() => clock.delays().filter((ms) => ms > 1).length).toBeGreaterThan(0)
      await expect.poll(() => states(collector)).toMatchObject({ pending: 10 })
      // The timer is set when the outcome has been stored.
      await expect
        .poll(() => Math.min(...clock.delays()))
        .toBe(Math.min(60_000, 500 * 2 ** (attempts - 1)) * 0.75)
      waits.push(Math.min(...clock.delays()))
      clock.advance(waits.at(-1) ?? 0)
    }
    expect(waits).toEqual([375, 750, 1500, 3000, 6000, 12_000, 24_000, 45_000, 45_000])

    await expect.poll(() => proxy.inserts.length).toBe(10)
    proxy.fault = () => undefined
    await expect.poll(() => clock.delays().length).toBe(1)
    await fetch(`${collector.url}/api/destinations/Warehouse/retry`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })

    await expect.poll(() => states(collector)).toMatchObject({ pending: 0, delivered: 10, failed: 0 })
    expect(await rows('count() AS n')).toEqual([{ n: 10 }])
  },
)

clickHouseTest(
  'a collector that closes during a request leaves its events pending, without counting an attempt',
  async () => {
    const { proxy, destination, rows } = await newTable()
    const store = newDatabaseFile()
    proxy.fault = () => (proxy.inserts.length === 1 ? { kind: 'silence' } : undefined)
    const config = { destinations: [destination({ timeout: 300_000 })] }
    const first = await openCollector({ store, config })
    await batch(first, several(4))
    await expect.poll(() => proxy.inserts.length).toBe(1)
    await first.close()

    const second = await openCollector({ store, config })

    await expect.poll(() => states(second)).toMatchObject({ pending: 0, delivered: 4 })
    expect(second.events()[0]?.destinations).toMatchObject([{ state: 'delivered', attempts: 1 }])
    expect(proxy.inserts[1]).toEqual(proxy.inserts[0])
    expect(await rows('count() AS n')).toEqual([{ n: 4 }])
  },
)
