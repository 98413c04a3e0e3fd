import { connect } from '@nats-io/transport-node'
import { expect, onTestFinished } from 'vitest'
import { newEvent } from '../../../collector/src/conformance/new-event.ts'
import { ConfigError, startCollector } from '../../../collector/src/index.ts'
import { newDatabaseFile } from '../../../collector/test/support/process.ts'
import { openCollector, post, track } from '../../../collector/test/support.ts'
import { encode } from '../../src/log/codec.ts'
import { startNats, natsTest as test } from '../support/nats.ts'

const config = { log: { maxBytes: 50_000_000 } }

const json = async (url: string, path: string, init?: RequestInit) =>
  (await fetch(`${url}${path}`, init)).json()

test('a worker stores the events for which a front responded with 200, those of a repeated request only once', async () => {
  const { url: log } = await startNats()
  const front = await openCollector({ log, config })
  const worker = await openCollector({ log, work: true, store: newDatabaseFile(), config })
  const batch = {
    batch: [track({ messageId: 'a' }), track({ messageId: 'b' }), { type: 'track', userId: 'u' }],
  }

  expect((await post(front, '/v1/batch', batch)).status).toBe(200)
  expect((await post(front, '/v1/batch', batch)).status).toBe(200)
  expect((await post(front, '/v1/track', track({ messageId: 'a', event: 'Other' }))).status).toBe(200)

  await worker.waitFor({ reason: 'dedup_conflict' })
  expect(worker.count({ status: 'accepted' })).toBe(2)
  await expect.poll(async () => (await json(worker.url, '/api/stats')).log.waiting).toBe(0)
  // The worker also has the requests of these events, because the front has reported them.
  await expect.poll(async () => (await json(worker.url, '/api/requests')).requests.length).toBe(3)
  const [event] = worker.events({ messageId: 'b' })
  expect((await json(worker.url, `/api/requests/${event?.request}`)).path).toBe('/v1/batch')
})

test('requests are recorded, however large they are together', async () => {
  const { url: log } = await startNats()
  const front = await openCollector({ log, config })
  const worker = await openCollector({ log, work: true, store: newDatabaseFile(), config })
  const large = {
    method: 'POST',
    headers: { 'x-large': '"'.repeat(14_000) },
    body: '\u0001'.repeat(2000),
  }

  const responses = await Promise.all(Array.from({ length: 60 }, () => fetch(`${front.url}/v1/batch`, large)))
  await fetch(`${front.url}/v1/batch`, { ...large, body: `{"batch":["${'x'.repeat(600_000)}"]}` })

  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([400]))
  const shown = async () => (await json(worker.url, '/api/requests?limit=100')).requests.length
  await expect.poll(shown).toBe(61)
})

test('a front without a store says where events are; one with a store shows the events that workers wrote', async () => {
  const { url: log } = await startNats()
  const store = newDatabaseFile()
  const front = await openCollector({ log, config })
  const worker = await openCollector({ log, work: true, store, config })
  const reading = await openCollector({ log, store, config })

  await post(front, '/v1/track', track({ event: 'Seen' }))

  await expect.poll(async () => (await json(reading.url, '/api/events?event=Seen')).events.length).toBe(1)
  expect(await json(reading.url, '/api/about')).toMatchObject({ role: 'front', log })
  expect(await json(worker.url, '/api/about')).toMatchObject({ role: 'worker', log })
  expect(await json(front.url, '/api/about')).toMatchObject({
    role: 'front',
    log,
    message: expect.stringContaining('front'),
  })
  expect(await json(front.url, '/api/stats')).toEqual({
    log: {
      isReady: true,
      reason: null,
      waiting: 0,
      oldestMs: null,
      deadLetters: 0,
      areDeadLettersFull: false,
    },
  })
  expect(await json(front.url, '/api/events')).toMatchObject({ code: 'no_store' })
  expect((await fetch(`${front.url}/nothing`)).status).toBe(404)
  expect(await json(front.url, '/readyz')).toMatchObject({
    status: 'ready',
    parts: [{ part: 'log', isReady: true }],
  })
})

test('an event that the store refuses becomes a dead letter, which is shown, is not lost by a retry, and can be discarded', async () => {
  const { url: log } = await startNats()
  const worker = await openCollector({ log, work: true, store: newDatabaseFile(), config })
  // As a front of another version might write it: the same destination twice.
  const hook = { destination: 'Hook' }
  const poison = newEvent('poison', { deliveries: [hook, hook] })
  const connection = await connect({ servers: log })
  onTestFinished(() => connection.close())
  const [chunk] = encode([newEvent('a'), poison, newEvent('b')])
  connection.publish('trackpost.events', chunk?.payload)

  await expect
    .poll(async () => (await json(worker.url, '/api/stats')).log)
    .toMatchObject({ deadLetters: 1, waiting: 0 })

  expect(worker.events().map(({ messageId }) => messageId)).toEqual(['a', 'b'])
  const { deadLetters } = await json(worker.url, '/api/dead-letters')
  expect(deadLetters).toMatchObject([{ messageId: 'poison', reason: expect.stringContaining('UNIQUE') }])
  const retry = (body: string) =>
    json(worker.url, '/api/dead-letters/retry', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
  expect(await retry('{"ids":["99"]}')).toEqual({ retried: 0 })
  expect(await retry(JSON.stringify({ ids: [deadLetters[0].id] }))).toEqual({ retried: 1 })
  // The store refuses it again, and the retry does not lose it.
  await expect
    .poll(async () =>
      (await json(worker.url, '/api/dead-letters')).deadLetters.map(({ id }: { id: string }) => id),
    )
    .toEqual([String(Number(deadLetters[0].id) + 1)])
  expect(worker.count()).toBe(2)
  const discard = (body: string, headers: object = { 'content-type': 'application/json' }) =>
    fetch(`${worker.url}/api/dead-letters/discard`, { method: 'POST', headers: { ...headers }, body })
  // Dead letters are discarded only with their ids, and not by a page of another site.
  expect((await discard('{}')).status).toBe(400)
  expect((await discard('{"ids":[]}')).status).toBe(400)
  expect((await discard('{"ids":["1"]}', { 'content-type': 'text/plain' })).status).toBe(400)
  expect((await discard('{"ids":["1"]}', { origin: 'https://example.com' })).status).toBe(403)
  expect((await fetch(`${worker.url}/api/dead-letters/discard`)).status).toBe(405)
  const [letter] = (await json(worker.url, '/api/dead-letters')).deadLetters
  const discarded = await discard(JSON.stringify({ ids: [letter.id, '99'] }))
  expect(await discarded.json()).toEqual({ discarded: 1 })
  expect((await json(worker.url, '/api/dead-letters')).deadLetters).toEqual([])
  expect((await fetch(`${worker.url}/api/dead-letters`, { method: 'DELETE' })).status).toBe(405)
  expect((await fetch(`${worker.url}/api/dead-letters?limit=0`)).status).toBe(400)
})

test('a destination that only fronts or only workers know is reported', async () => {
  const { url: log } = await startNats()
  const store = newDatabaseFile()
  const files = (name: string) => [{ name, type: 'file' as const, path: `${newDatabaseFile()}.ndjson` }]
  const front = await openCollector({ log, store, config: { ...config, destinations: files('Front') } })
  const faults: string[] = []
  const worker = await openCollector({
    log,
    work: true,
    store,
    config: { ...config, destinations: files('Worker') },
    onFault: (what, cause) => void faults.push(`${what}: ${(cause as Error).message}`),
  })
  await post(front, '/v1/track', track())
  await worker.waitFor({ timeout: 20_000 })

  const { destinations } = await json(worker.url, '/api/destinations')

  const unplanned = 'events come from a front that does not know it, and are not delivered to it: '
  expect(destinations).toMatchObject([
    { name: 'Worker', type: 'file', pending: 0, warning: expect.stringContaining(unplanned) },
    {
      name: 'Front',
      type: 'unknown',
      pending: 1,
      warning: expect.stringContaining('1 delivery is pending, and no running process delivers to it: '),
    },
  ])
  expect(faults).toEqual([`destination Worker: ${unplanned}name it in the config of every front`])
  // The front selects the destination, and sees that nothing is delivered.
  expect((await json(front.url, '/api/destinations')).destinations).toMatchObject([
    { name: 'Front', type: 'file', pending: 1, warning: expect.stringContaining('no running process') },
  ])
  const second = await openCollector({
    log,
    work: true,
    store,
    config: { ...config, destinations: files('Front') },
  })
  await second.waitFor({ q: 'delivery:delivered', timeout: 20_000 })
  expect((await json(front.url, '/api/destinations')).destinations).toMatchObject([{ warning: null }])
})

test('a worker without a store, and an invalid log address, are errors at the start', async () => {
  const wrong: Array<[object, string]> = [
    [{ work: true }, 'work: expected --log'],
    [{ work: true, log: 'nats://127.0.0.1:1' }, 'work: expected --store'],
    [{ log: 'kafka://x' }, 'log: expected nats://'],
    [{ log: 'nats://127.0.0.1:1', config: { log: { replicas: 2 } } }, 'log.replicas'],
    [{ log: 'nats://127.0.0.1:1', config: { log: { credentialsFile: '/nowhere' } } }, 'log.credentialsFile'],
  ]
  for (const [options, words] of wrong) {
    const start = startCollector({ port: 0, ...options })
    await expect(start, words).rejects.toThrow(ConfigError)
    await expect(start).rejects.toThrow(words)
  }
})
