import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Collector } from '../../src/index.ts'
import { newDatabaseFile } from '../support/process.ts'
import { exchange, openCollector, post, serve, track } from '../support.ts'
import { parseMetrics, seriesOf } from './prometheus.ts'

const ask = async (collector: Pick<Collector, 'url'>, path: string, init?: RequestInit) => {
  const response = await fetch(`${collector.url}${path}`, init)
  return { status: response.status, body: await response.text() }
}
const askJson = async (collector: Pick<Collector, 'url'>, path: string) => {
  const { status, body } = await ask(collector, path)
  return { status, body: JSON.parse(body) }
}
const metricsOf = async (collector: Pick<Collector, 'url'>, init?: RequestInit) => {
  const { status, body } = await ask(collector, '/metrics', init)
  expect(status).toBe(200)
  return parseMetrics(body)
}
const ready = {
  part: 'store',
  isReady: true,
  isRequired: true,
  reason: null,
  waiting: 0,
  fill: expect.any(Number),
}

test('a running collector is alive and ready', async () => {
  const collector = await openCollector({ store: newDatabaseFile() })

  expect(await askJson(collector, '/healthz')).toEqual({ status: 200, body: { status: 'alive' } })
  expect(await askJson(collector, '/readyz')).toEqual({
    status: 200,
    body: { status: 'ready', parts: [ready] },
  })
})

test('a collector whose database file was removed is alive but not ready, and says why', async () => {
  const database = newDatabaseFile()
  const collector = await openCollector({ store: database })
  for (const end of ['', '-wal', '-shm']) rmSync(`${database}${end}`, { force: true })

  expect(await askJson(collector, '/readyz')).toEqual({
    status: 503,
    body: {
      status: 'not_ready',
      parts: [{ ...ready, isReady: false, reason: 'the database file was removed or replaced' }],
    },
  })
  expect((await ask(collector, '/healthz')).status).toBe(200)
  expect(seriesOf(await metricsOf(collector), 'ready', { part: 'store' })).toBe(0)
})

test('a draining collector is not ready, still accepts events, and closes connections after the response', async () => {
  const collector = await openCollector({ store: newDatabaseFile() })
  collector.drain()

  expect(await askJson(collector, '/readyz')).toEqual({
    status: 503,
    body: { status: 'draining', parts: [ready] },
  })
  expect((await ask(collector, '/healthz')).status).toBe(200)
  const response = await post(collector, '/v1/track', track())
  expect([response.status, response.headers.get('connection')]).toEqual([200, 'close'])
  expect(collector.count()).toBe(1)
})

test('the metrics count requests, events, appends and deliveries', async () => {
  const url = await serve((_request, response) => response.writeHead(422).end())
  const collector = await openCollector({
    store: newDatabaseFile(),
    config: { destinations: [{ name: 'Hook', type: 'webhook', url }] },
  })
  const same = track()
  await post(collector, '/v1/track', same)
  await post(collector, '/v1/t', same)
  await post(collector, '/v1/batch', { batch: [track(), { type: 'track', userId: 'u' }] })
  await post(collector, '/v1/track', 'no json')
  await ask(collector, '/nothing')
  await exchange(collector.port, 'GARBAGE\r\n\r\n')
  await collector.waitFor({ reason: 'invalid_json' })
  await expect.poll(() => collector.count({ q: 'delivery:failed' })).toBe(2)

  const samples = await metricsOf(collector)
  const requests = (path: string, status: string) => seriesOf(samples, 'requests_total', { path, status })
  const events = (reason: string) => seriesOf(samples, 'events_total', { reason })

  expect([requests('/v1/track', '200'), requests('/v1/t', '200'), requests('/v1/batch', '200')]).toEqual([
    1, 1, 1,
  ])
  expect([requests('/v1/track', '400'), requests('other', '404'), requests('other', '400')]).toEqual([
    1, 1, 1,
  ])
  expect([events(''), events('duplicate'), events('no_event'), events('invalid_json')]).toEqual([2, 1, 1, 1])
  expect(seriesOf(samples, 'events_total', { status: 'accepted' })).toBe(2)
  expect(seriesOf(samples, 'append_duration_seconds_count', { result: 'ok' })).toBe(4)
  expect(seriesOf(samples, 'append_duration_seconds_sum', { result: 'ok' })).toBeGreaterThan(0)
  expect(seriesOf(samples, 'destination_events', { destination: 'Hook', state: 'failed' })).toBe(2)
  expect(seriesOf(samples, 'destination_events', { destination: 'Hook', state: 'pending' })).toBe(0)
  expect(seriesOf(samples, 'open_requests')).toBe(1)
  expect(samples.map(({ name }) => name)).toContain('process_cpu_seconds_total')
})

test('pending deliveries are counted, with the age of the oldest', async () => {
  const collector = await openCollector({
    store: newDatabaseFile(),
    config: {
      destinations: [{ name: 'Hook', type: 'webhook', url: 'http://127.0.0.1:9/', firstDelay: 60_000 }],
    },
  })
  await post(collector, '/v1/track', track())

  const samples = await metricsOf(collector)

  expect(seriesOf(samples, 'destination_events', { destination: 'Hook', state: 'pending' })).toBe(1)
  expect(seriesOf(samples, 'destination_oldest_seconds', { destination: 'Hook' })).toBeGreaterThan(0)
})

test('the faults in force and the fill of the store are metrics', async () => {
  const collector = await openCollector({ store: newDatabaseFile() })
  const ofDisk = seriesOf(await metricsOf(collector), 'store_fill_ratio', { part: 'store' })
  expect(ofDisk).toBeGreaterThan(0)
  expect(ofDisk).toBeLessThanOrEqual(1)
  expect(seriesOf(await metricsOf(collector), 'active_faults')).toBe(0)

  collector.respondNext({ status: 503 })
  expect(seriesOf(await metricsOf(collector), 'active_faults')).toBe(1)
})

test('failed appends are counted separately', async () => {
  const database = newDatabaseFile()
  const collector = await openCollector({ store: database })
  for (const end of ['', '-wal', '-shm']) rmSync(`${database}${end}`, { force: true })
  expect((await post(collector, '/v1/track', track())).status).toBe(503)

  const samples = await metricsOf(collector)

  expect(seriesOf(samples, 'append_duration_seconds_count', { result: 'failed' })).toBe(1)
  expect(seriesOf(samples, 'append_duration_seconds_count', { result: 'ok' })).toBe(0)
  expect(seriesOf(samples, 'requests_total', { path: '/v1/track', status: '503' })).toBe(1)
})

test('two collectors in one process have separate metrics, even if scraped at the same time', async () => {
  const [first, second] = [await openCollector(), await openCollector()]
  await post(first, '/v1/track', track())

  const all = await Promise.all([metricsOf(first), metricsOf(second), metricsOf(first)])

  expect(all.map((samples) => seriesOf(samples, 'events_total', { reason: '' }))).toEqual([1, undefined, 1])
})

test('10,000 unusual names of sources, events, ids, paths and versions make no new series', async () => {
  const collector = await openCollector()
  const send = async (odd: string) => {
    const event = track({ event: odd, userId: odd, anonymousId: odd, messageId: odd.slice(0, 90) })
    const authorization = `Basic ${Buffer.from(`${odd}:`).toString('base64')}`
    const headers = { authorization, 'user-agent': 'x'.repeat(odd.length), 'x-retry-count': '7' }
    await post(collector, '/v1/batch', { batch: [event, { type: odd }] }, headers)
    await fetch(`${collector.url}/v1/${encodeURIComponent(odd)}`, { method: 'POST' }).then((r) => r.text())
    await fetch(`${collector.url}/api/events/${encodeURIComponent(odd)}`).then((r) => r.text())
  }
  const oddName = (index: number) => `odd "${index}"\\{le="+Inf"}`
  await send(oddName(0))
  const before = await metricsOf(collector)

  for (let start = 1; start <= 10_000; start += 50) {
    const names = Array.from({ length: 50 }, (_, index) => oddName(start + index))
    const batch = names.map((odd) => track({ event: odd, userId: odd, messageId: odd, name: odd }))
    await post(collector, '/v1/batch', { batch, context: { library: { name: names[0] } } })
  }
  await Promise.all(Array.from({ length: 100 }, (_, index) => send(oddName(20_000 + index))))
  const after = await metricsOf(collector)

  const own = (samples: typeof after) => samples.filter(({ name }) => name.startsWith('trackpost_')).length
  expect(seriesOf(after, 'events_total', { reason: '' })).toBe(10_101)
  expect(own(after)).toBe(own(before) + NEW_PATHS_OF_THE_SCRAPE)
  expect(JSON.stringify(after)).not.toContain('odd')
})
/** A scrape is counted only after it has ended: its path first appears as a series in the second scrape. */
const NEW_PATHS_OF_THE_SCRAPE = 1

test('metrics need the admin token, probes do not; POST is refused', async () => {
  const collector = await openCollector({ adminToken: 'a-long-token' })
  const headers = { authorization: 'Bearer a-long-token' }

  expect((await ask(collector, '/metrics')).status).toBe(401)
  expect(
    (await ask(collector, '/metrics', { headers: { authorization: 'Bearer wrong-token' } })).status,
  ).toBe(401)
  const samples = await metricsOf(collector, { headers })
  expect(JSON.stringify(samples)).not.toContain('a-long-token')
  expect((await ask(collector, '/readyz')).status).toBe(200)
  expect((await ask(collector, '/healthz')).status).toBe(200)
  expect(await ask(collector, '/readyz', { method: 'HEAD' })).toEqual({ status: 200, body: '' })
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    expect((await ask(collector, path, { method: 'POST', headers })).status, path).toBe(405)
  }
})

test('a public collector without a token refuses metrics, and responds to probes', async () => {
  const collector = await openCollector({ host: '0.0.0.0', allowPublic: true })
  const local = { url: `http://127.0.0.1:${collector.port}` }

  expect((await ask(local, '/metrics')).status).toBe(403)
  expect((await ask(local, '/readyz')).status).toBe(200)
})

test('pages of other sites and unknown host names are refused', async () => {
  const collector = await openCollector()
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    const foreign = { headers: { origin: 'https://evil.example' } }
    expect((await ask(collector, path, foreign)).status, path).toBe(403)
    const rebound = await exchange(
      collector.port,
      `GET ${path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
    )
    expect(rebound, path).toMatch(/^HTTP\/1\.1 403 /)
  }
})

test('probes are not recorded as requests of clients', async () => {
  const collector = await openCollector()
  collector.drain()
  for (const path of ['/healthz', '/readyz', '/metrics']) await ask(collector, path)
  await post(collector, '/v1/track', track())

  await expect.poll(() => collector.stats().requests).toBe(1)
  expect(collector.stats().refused).toBe(0)
})
