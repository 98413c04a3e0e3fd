import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readBody } from '../../test/support/loopback.ts'
import type { Collector } from '../src/index.ts'
import { newDatabaseFile, newFolder } from './support/process.ts'
import { fakeClock, openCollector, post, serve, track } from './support.ts'

/** Responds with the given statuses, and then always with the last one. */
async function openReceiver(...statuses: number[]) {
  const received: Array<{ headers: IncomingHttpHeaders; message: Record<string, unknown> }> = []
  const url = await serve(async (request, response) => {
    received.push({ headers: request.headers, message: JSON.parse(await readBody(request)) })
    const status = statuses.length > 1 ? statuses.shift() : statuses[0]
    response.writeHead(status ?? 200, status === 302 ? { location: '/elsewhere' } : {}).end()
  })
  return { received, url: `${url}/hook` }
}

function outcomes(collector: Collector, query = {}) {
  return Object.fromEntries(
    (collector.events(query)[0]?.destinations ?? []).map(({ name, ...rest }) => [name, rest]),
  )
}

test('accepted events are appended to a file as JSON lines; rejected and duplicate events are not', async () => {
  const folder = join(newFolder(), 'deep')
  const path = join(folder, 'events.ndjson')
  // A line that was cut off does not spoil the next one.
  mkdirSync(folder)
  writeFileSync(path, '{"n":')
  const collector = await openCollector({ config: { destinations: [{ name: 'Lines', type: 'file', path }] } })

  await post(collector, '/v1/batch', {
    batch: [
      track({ messageId: 'a', event: 'Größe\ngewählt' }),
      track({ messageId: 'a', event: 'Größe\ngewählt' }),
      { type: 'track', userId: 'u' },
      track({ messageId: 'b' }),
    ],
  })
  await expect
    .poll(() => outcomes(collector, { messageId: 'b' }))
    .toEqual({ Lines: { state: 'delivered', attempts: 1 } })

  const [cut, ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n')
  expect(cut).toBe('{"n":')
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { messageId: 'a', event: 'Größe\ngewählt' },
    { messageId: 'b' },
  ])
})

test('each event lists the destinations that got it, and why others did not', async () => {
  const clock = fakeClock(Date.parse('2026-05-17T12:00:00Z'))
  const folder = newFolder()
  const file = (name: string, more = {}) => ({
    name,
    type: 'file' as const,
    path: join(folder, name),
    ...more,
  })
  const collector = await openCollector({
    clock: clock,
    config: {
      sources: [{ name: 'shop', writeKey: 'shop', destinations: ['A', 'B', 'Fresh'] }],
      destinations: [
        file('A'),
        file('B', { alternativeNames: ['Bee'] }),
        file('C'),
        file('Fresh', { pastData: false }),
        file('Off', { enabled: false }),
      ],
    },
  })

  await post(
    collector,
    '/v1/track',
    track({ timestamp: '2020-01-01T00:00:00Z', integrations: { Bee: false } }),
  )
  await post(collector, '/v1/track', track({ messageId: 'new', timestamp: '2026-05-17T11:00:00Z' }))
  await expect.poll(() => outcomes(collector, { messageId: 'new' })['Fresh']?.state).toBe('delivered')

  expect(outcomes(collector)).toEqual({
    A: { state: 'delivered', attempts: 1 },
    B: { state: 'skipped', reason: 'integrations', attempts: 0 },
    C: { state: 'skipped', reason: 'not_enabled', attempts: 0 },
    Fresh: { state: 'skipped', reason: 'past_data', attempts: 0 },
  })
})

const webhook = (url: string, more = {}) => ({
  destinations: [{ name: 'Hook', type: 'webhook' as const, url, ...more }],
})

test('a webhook gets each accepted message, with the configured headers and a key for deduplication', async () => {
  const { received, url } = await openReceiver(200)
  const collector = await openCollector({ config: webhook(url, { headers: { 'x-secret': 's3' } }) })

  await post(collector, '/v1/track', track({ messageId: 'hooked' }))
  await expect.poll(() => outcomes(collector)).toEqual({ Hook: { state: 'delivered', attempts: 1 } })

  expect(received).toMatchObject([
    {
      message: { messageId: 'hooked', type: 'track' },
      headers: {
        'x-secret': 's3',
        'idempotency-key': expect.stringMatching(/^[0-9a-f]{12}-1-[0-9a-f]{16}$/),
        'x-trackpost-attempt': '1',
      },
    },
  ])
})

/** The waits of the deliverer; the store and the comparison of events wait for at most half a second. */
function waiting(clock: ReturnType<typeof fakeClock>): number[] {
  return clock.delays().filter((delayMs) => delayMs > 500)
}

test('if the clock was set back by a month, the deliverer looks again after a minute, not at once and for ever', async () => {
  const database = newDatabaseFile()
  const { received, url } = await openReceiver(500, 200)
  const config = webhook(url, { firstDelay: 50 })
  const clock = fakeClock()
  const first = await openCollector({ store: database, config, clock })
  await post(first, '/v1/track', track())
  await expect.poll(() => received.length).toBe(1)
  await first.close()
  clock.jump(-31 * 24 * 3_600_000)

  await openCollector({ store: database, config, clock })

  await expect.poll(() => clock.delays()).toContain(60_000)
})

test('pending deliveries to a webhook survive a restart', async () => {
  const database = newDatabaseFile()
  const { received, url } = await openReceiver(500, 200)
  const config = webhook(url, { firstDelay: 50 })
  // The clock stands still before the restart, so the first collector cannot make the second attempt.
  const clock = fakeClock()
  const first = await openCollector({ store: database, config, clock })
  await post(first, '/v1/track', track({ messageId: 'pending' }))
  await expect.poll(() => received.length).toBe(1)
  await first.close()

  const second = await openCollector({ store: database, config, clock })

  await expect
    .poll(() => {
      clock.advance(100)
      return outcomes(second)
    })
    .toMatchObject({ Hook: { state: 'delivered' } })
  expect(received.at(-1)?.message).toMatchObject({ messageId: 'pending' })
})

test('F152: after a restore from a backup, new events do not have the idempotency keys of events that are lost', async () => {
  const { received, url } = await openReceiver(200)
  const database = newDatabaseFile()
  const run = async (delivered: number) => {
    const collector = await openCollector({ store: database, config: webhook(url) })
    await post(collector, '/v1/track', track())
    await expect.poll(() => collector.count({ q: 'delivery:delivered' })).toBe(delivered)
    await collector.close()
  }
  await run(1)
  copyFileSync(database, `${database}.backup`)
  await run(2)

  copyFileSync(`${database}.backup`, database)
  await run(2)

  const keys = received.map(({ headers }) => String(headers['idempotency-key']))
  expect(keys.map((key) => key.split('-')[1])).toEqual(['1', '2', '2'])
  expect(new Set(keys).size).toBe(3)
})

test('a file that cannot be written is tried again until it can be written', async () => {
  const clock = fakeClock()
  const path = join(newFolder(), 'events.ndjson')
  mkdirSync(path)
  const collector = await openCollector({
    clock: clock,
    config: { destinations: [{ name: 'Lines', type: 'file', path }] },
  })
  await post(collector, '/v1/track', track())
  await expect
    .poll(() => outcomes(collector))
    .toMatchObject({
      Lines: { state: 'pending', reason: 'cannot be written (EISDIR)' },
    })
  await expect.poll(() => waiting(clock).length).toBe(1)

  rmSync(path, { recursive: true })
  clock.advance(2000)

  await expect.poll(() => outcomes(collector)).toMatchObject({ Lines: { state: 'delivered', attempts: 2 } })
  expect(readFileSync(path, 'utf8').trimEnd().split('\n')).toHaveLength(1)
})
