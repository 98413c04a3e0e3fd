import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Loopback, listen } from '../../../test/support/loopback.ts'
import { type Collector, type EventRecord, startCollector } from '../../src/index.ts'
import { newDatabaseFile } from '../support/process.ts'
import { post, track } from '../support.ts'

const docs = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8')

function examples(heading: string): unknown[] {
  const section = docs.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json = '']) =>
    JSON.parse(json.replaceAll('[ ... ]', '[]').replace(/, \.\.\./g, '')),
  )
}

const OPTIONAL = new Set(['reason', 'warnings', 'destination', 'pending', 'format', '...'])
/** Fields whose values are not compared, mostly because the sender of the events chooses their keys. */
const OPEN = new Set([
  ...[
    'byReason',
    'byType',
    'bySource',
    'traits',
    'headers',
    'message',
    'sent',
    'schema',
    'stats',
    'requestDetails',
  ],
  ...['track', 'page', 'screen', 'identify', 'group', 'properties', 'example', 'first', 'value', 'help'],
])

function differences(example: unknown, actual: unknown, path = ''): string[] {
  if (actual === null) return []
  if (Array.isArray(example)) {
    if (!Array.isArray(actual)) return [`${path}: expected a list`]
    if (example.length === 0) return []
    return actual.flatMap((one, index) =>
      differences(example[Math.min(index, example.length - 1)], one, `${path}[]`),
    )
  }
  if (typeof example !== 'object' || example === null) return []
  if (typeof actual !== 'object') return [`${path}: expected an object`]
  if ('...' in example) return []
  const [wanted, there] = [Object.keys(example), Object.keys(actual)]
  const wrong = [
    ...wanted
      .filter((key) => !there.includes(key) && !OPTIONAL.has(key))
      .map((key) => `${path}.${key} is missing`),
    ...there
      .filter((key) => !wanted.includes(key) && !OPTIONAL.has(key))
      .map((key) => `${path}.${key} is not documented`),
  ]
  for (const key of there) {
    if (OPEN.has(key)) continue
    const [one, other] = [example, actual].map((value) => (value as Record<string, unknown>)[key])
    wrong.push(...differences(one, other, `${path}.${key}`))
  }
  return wrong
}

const plan = {
  title: 'Plan',
  track: {
    'Order Completed': { type: 'object', properties: { total: { type: 'number' } } },
    'Refund Issued': { type: 'object' },
  },
}

let collector: Collector
let hook: Loopback
const get = async (path: string, init?: RequestInit) => {
  const response = await fetch(`${collector.url}${path}`, init)
  // biome-ignore lint/suspicious/noExplicitAny: the test only compares responses
  return { status: response.status, body: (await response.json()) as any }
}
const send = (path: string, body: unknown) =>
  get(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
const countOf = async (q: string): Promise<number> =>
  (await get(`/api/count?${new URLSearchParams({ q })}`)).body.count
let events: EventRecord[]
const idOf = (messageId: string, reason: string | null = null) =>
  events.find((event) => event.messageId === messageId && event.reason === reason)?.id ?? ''

beforeAll(async () => {
  let calls = 0
  hook = await listen((request, response) => {
    calls++
    response.statusCode = calls === 1 ? 503 : calls === 2 ? 410 : 200
    request.resume().on('end', () => response.end())
  })
  const url = `${hook.url}/in?secret=1`
  collector = await startCollector({
    port: 0,
    plan,
    store: newDatabaseFile(),
    config: { destinations: [{ name: 'Hook', type: 'webhook', url, firstDelay: 1, concurrency: 1 }] },
  })
  const context = { library: { name: 'trackpost', version: '0.1.0' }, direct: true }
  const total = (messageId: string, value: unknown, more = {}) =>
    track({ messageId, userId: 'ada', event: 'Order Completed', properties: { total: value }, ...more })
  await post(collector, '/v1/batch', {
    context,
    sentAt: new Date(Date.now() - 4000).toISOString(),
    batch: [
      { type: 'identify', userId: 'ada', anonymousId: 'a-1', traits: { plan: 'pro' }, messageId: 'i1' },
      total('m1', 19.9, { timestamp: '2026-05-17T09:30:00Z' }),
      total('m2', '19.90', { integrations: { Hook: false } }),
      total('m1', 20),
      { type: 'track', userId: 'ada', messageId: 'm3' },
      { type: 'group', userId: 'ada', groupId: 'acme', traits: { size: 5 }, messageId: 'g1' },
      { type: 'alias', userId: 'ada', previousId: 'old', messageId: 'x1' },
      { type: 'page', anonymousId: 'a-1', name: 'Home', messageId: 'p1' },
    ],
  })
  await post(collector, '/v1/batch', '{"batch":[}')
  await vi.waitFor(async () => expect(await countOf('delivery:pending')).toBe(0), 10_000)
  await vi.waitFor(async () => expect((await get('/api/requests')).body.requests).toHaveLength(2), 10_000)
  events = (await get('/api/events')).body.events
})
afterAll(async () => {
  await collector.close()
  await hook.close()
})

test.each<[string, number, string, (body: never) => unknown]>([
  ['About', 0, '/api/about', (body) => body],
  ['Events', 0, '/api/events?q=user:ada&limit=2', (body) => body],
  ['Events', 1, '/api/events?view=summary', ({ events }: { events: unknown[] }) => events[1]],
  ['Requests', 0, '/api/requests?order=oldest', ({ requests }: { requests: unknown[] }) => requests[0]],
  ['Overview', 0, '/api/overview', (body) => body],
  ['Catalogue', 0, '/api/catalogue', (body) => body],
  ['Users', 0, '/api/users?q=ad', ({ users }: { users: unknown[] }) => users[0]],
  ['Users', 1, '/api/users/ada', (body) => body],
  ['Problems', 0, '/api/problems', (body) => body],
  ['Destinations', 0, '/api/destinations', (body) => body],
  ['Stats', 0, '/api/stats', (body) => body],
  ['Catalogue', 2, '/api/catalogue?format=schema', (body) => body],
])('%s, example %i matches the response of %s', async (heading, index, path, pick) => {
  const { status, body } = await get(path)

  expect(status).toBe(200)
  expect(examples(heading)[index]).toBeDefined()
  expect(differences(examples(heading)[index], pick(body as never))).toEqual([])
})

test('an event includes the message as sent and as stored, its request, its violations, and the ids of its neighbours', async () => {
  const [, summary, detail] = examples('Events') as Array<Record<string, unknown>>
  const { body } = await get(`/api/events/${idOf('m1')}`)

  expect(differences({ ...summary, ...detail }, body)).toEqual([])
  expect(body.sent).toEqual({
    type: 'track',
    messageId: 'm1',
    userId: 'ada',
    event: 'Order Completed',
    timestamp: '2026-05-17T09:30:00Z',
    properties: { total: 19.9 },
  })
  expect(body.difference.added).toEqual(expect.arrayContaining(['receivedAt', 'context']))
  expect(body.difference.changed).toMatchObject([{ path: 'timestamp', sent: '2026-05-17T09:30:00Z' }])
  const [hook] = (await get(`/api/events/${idOf('i1')}`)).body.destinations
  expect(hook.history.map((one: { result: string }) => one.result)).toEqual(['retry', hook.state])
  expect(body.clockSkewMs).toBeGreaterThanOrEqual(4000)
  expect(body.requestDetails).toMatchObject({ path: '/v1/batch', library: 'trackpost/0.1.0' })
  expect(body.repeats).toMatchObject([{ reason: 'dedup_conflict' }])
  expect(body.first).toBeNull()
  const conflict = (await get(`/api/events/${idOf('m1', 'dedup_conflict')}`)).body
  expect(conflict.first).toMatchObject({ id: body.id, message: { properties: { total: 19.9 } } })
  expect([body.previous, body.following]).toEqual(['1', '3'])
  const broken = (await get(`/api/events/${idOf('m2')}`)).body
  expect(broken.violations).toEqual([
    { path: 'properties.total', keyword: 'type', message: 'must be number' },
  ])
})

test('a request includes its headers without credentials, the beginning of its body and its events', async () => {
  const [summary, more] = examples('Requests') as Array<Record<string, unknown>>
  const { requests } = (await get('/api/requests?q=status:200')).body
  const { body } = await get(`/api/requests/${requests[0].id}`)

  expect(differences({ ...summary, ...more }, body)).toEqual([])
  expect(body.eventList).toHaveLength(8)
  expect(JSON.stringify(body.headers)).not.toContain('Basic')
  expect(body.body).toContain('"sentAt"')
  const refused = (await get('/api/requests?q=status>=400')).body.requests
  expect(refused).toMatchObject([
    { status: 400, code: 'invalid_json', problem: { offset: 10, line: 1, column: 11 } },
  ])
})

test('the counts of the overview add up, and the count of each loss is the number of events that its search finds', async () => {
  const { body } = await get('/api/overview')
  const [received, accepted, filtered, delivered] = body.steps

  expect([received.count, accepted.count, accepted.lost]).toEqual([9, 6, 3])
  expect([filtered.count, filtered.lost]).toEqual([5, 1])
  expect([delivered.count, delivered.lost, delivered.pending]).toEqual([4, 1, 0])
  for (const { q, count } of body.losses) {
    expect((await get(`/api/count?${new URLSearchParams({ q })}`)).body.count).toBe(count)
  }
  const sum = body.series.reduce((all: number, one: { accepted: number }) => all + one.accepted, 0)
  expect(sum).toBe(6)
})

test('an entry of the catalogue is the one of the list, with more', async () => {
  const [list, more] = examples('Catalogue') as [{ entries: object[] }, object]
  const { body } = await get('/api/catalogue/Order%20Completed')

  expect(differences({ ...list.entries[0], ...more }, body)).toEqual([])
})

test('a user is found by any id, with the history of the traits, and groups', async () => {
  expect((await get('/api/users/a-1')).body).toMatchObject({
    traitHistory: [{ changes: [{ path: 'plan', from: null, to: 'pro' }] }],
    groups: [{ groupId: 'acme', traits: { size: 5 } }],
  })
})

test('failed deliveries can be retried, and delivered events can be replayed', async () => {
  const before = (await get('/api/destinations')).body.destinations[0]
  expect(before).toMatchObject({
    target: expect.not.stringContaining('secret'),
    failed: 1,
    delivered: 4,
    skipped: 1,
  })
  expect(before.failures).toMatchObject([{ reason: 'answered 410', attempts: expect.any(Number) }])

  expect(await send('/api/destinations/Hook/retry', {})).toEqual({ status: 200, body: { retried: 1 } })
  await expect.poll(() => countOf('delivery:delivered')).toBe(5)
  expect((await send('/api/destinations/None/retry', {})).status).toBe(404)

  expect((await send(`/api/events/${idOf('m1')}/replay`, {})).body).toEqual({ destinations: ['Hook'] })
  await expect
    .poll(async () => (await get(`/api/events/${idOf('m1')}`)).body.destinations[0].history.length)
    .toBeGreaterThan(1)
  expect((await send(`/api/events/${idOf('m3', 'no_event')}/replay`, {})).status).toBe(409)
  expect((await send('/api/events/999/replay', {})).status).toBe(404)
})

test('all matching events are exported, and formulas become text', async () => {
  const ask = async (query: string) => (await fetch(`${collector.url}/api/export?${query}`)).text()
  const lines = (await ask('q=user:ada')).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).userId)).toEqual(Array(7).fill('ada'))
  await post(collector, '/v1/track', track({ event: '=1+1', userId: 'a,"b"', messageId: 'csv' }))
  const csv = 'format=csv&event=%3D1%2B1'
  expect((await ask(csv)).split('\r\n')[1]).toContain(`,track,'=1+1,"a,""b""",,csv,`)
})

test('requests are exported too, including refused ones', async () => {
  await post(collector, '/v1/track', '{"event":', { 'user-agent': '=HYPERLINK("x")' })
  await expect.poll(async () => (await get('/api/requests?q=agent:=HYPERLINK*')).body.requests.length).toBe(1)
  const csv = await fetch(`${collector.url}/api/export/requests?q=agent:=HYPERLINK*`)
  const [headings, ...rows] = (await csv.text()).trimEnd().split('\r\n')

  expect(csv.headers.get('content-disposition')).toBe('attachment; filename="requests.csv"')
  expect(headings).toBe(
    'id,at,method,path,status,code,problem,source,address,userAgent,library,contentType,contentEncoding,bodyBytes,inflatedBytes,durationMs,retryCount,events,accepted,fault',
  )
  expect(rows).toEqual([expect.stringContaining(`,"'=HYPERLINK(""x"")",`)])
  expect((await get('/api/export/requests?event=x')).status).toBe(400)
})
