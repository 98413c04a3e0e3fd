import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from '@nats-io/transport-node'
import { expect, onTestFinished } from 'vitest'
import { newEvent } from '../../../collector/src/conformance/new-event.ts'
import { ConfigError, startCollector } from '../../../collector/src/index.ts'
import { openCollector, post, track } from '../../../collector/test/support.ts'
import { encode } from '../../src/log/codec.ts'
import { startNats, natsTest as test } from '../support/nats.ts'

const config = { log: { maxBytes: 50_000_000 } }
const bin = fileURLToPath(new URL('../../../collector/bin/trackpost-collector.js', import.meta.url))

const newStore = () => join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'events.db')
const json = async (url: string, path: string, init?: RequestInit) =>
  (await fetch(`${url}${path}`, init)).json()

async function run(...args: string[]): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [bin, ...args, '--port', '0'], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (part) => (text += part))
  await expect.poll(() => text, { timeout: 20_000 }).toMatch(/listens on (\S+),/)
  return { child, url: /listens on (\S+),/.exec(text)?.[1] ?? '' }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const exited = once(child, 'exit')
  child.kill(signal)
  return (await exited)[0]
}

test('a worker stores the events for which a front responded with 200, those of a repeated request only once', async () => {
  const { url: log } = await startNats()
  const front = await openCollector({ log, config })
  const worker = await openCollector({ log, work: true, store: newStore(), config })
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
  const worker = await openCollector({ log, work: true, store: newStore(), config })
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
  const store = newStore()
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

test('while the log is unavailable, a front responds with 503 and Retry-After, and accepts events again when it is back', async () => {
  const server = await startNats()
  const front = await openCollector({ log: server.url, config })
  const send = () => post(front, '/v1/track', track())
  expect((await send()).status).toBe(200)

  await server.kill()
  const refused = await send()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
  await expect.poll(async () => (await fetch(`${front.url}/readyz`)).status).toBe(503)
  await server.start()

  await expect.poll(async () => (await fetch(`${front.url}/readyz`)).status).toBe(200)
  expect((await send()).status).toBe(200)

  await server.pause()
  expect((await send()).status).toBe(503)
  server.resume()
  await expect.poll(async () => (await send()).status).toBe(200)
})

test('an event that the store refuses becomes a dead letter, which is shown, is not lost by a retry, and can be discarded', async () => {
  const { url: log } = await startNats()
  const worker = await openCollector({ log, work: true, store: newStore(), config })
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

test('workers that are killed at any moment lose no event and write none twice', async () => {
  const { url: log } = await startNats()
  const store = newStore()
  const front = await openCollector({ log, config })
  const spawnWorker = () => run('work', '--log', log, '--store', store)
  const workers = [await spawnWorker(), await spawnWorker()]
  const sent: string[] = []
  const send = async (round: number) => {
    for (let batch = 0; batch < 20; batch++) {
      const ids = Array.from({ length: 50 }, (_, index) => `r${round}-${batch}-${index}`)
      const body = { batch: ids.map((messageId) => track({ messageId })) }
      if ((await post(front, '/v1/batch', body)).status === 200) sent.push(...ids)
    }
  }

  for (let round = 0; round < 4; round++) {
    const sending = send(round)
    const victim = workers[round % 2]
    if (victim !== undefined) await end(victim.child, 'SIGKILL')
    await sending
    workers[round % 2] = await spawnWorker()
  }

  const url = workers[0]?.url ?? ''
  await expect.poll(async () => (await json(url, '/api/stats')).log?.waiting, { timeout: 25_000 }).toBe(0)
  expect(sent).toHaveLength(4000)
  expect(await json(url, '/api/count?status=accepted')).toMatchObject({ count: 4000 })
  expect(await json(url, '/api/count?status=rejected')).toMatchObject({ count: 0 })
})

test('on SIGTERM, a front responds to its open requests, and a worker writes its open messages', async () => {
  const { url: log } = await startNats()
  const store = newStore()
  const front = await run('--log', log)
  const worker = await run('work', '--log', log, '--store', store)
  const answers = Promise.all(
    Array.from({ length: 40 }, () =>
      post(front, '/v1/batch', { batch: [track(), track()] }).then(
        ({ status }) => status,
        () => 0,
      ),
    ),
  )
  await expect.poll(async () => (await json(worker.url, '/api/count')).count).toBeGreaterThan(0)

  expect(await end(front.child, 'SIGTERM')).toBe(0)
  expect(await end(worker.child, 'SIGTERM')).toBe(0)

  const kept = (await answers).filter((status) => status === 200).length * 2
  const after = await openCollector({ log, work: true, store, config })
  await expect
    .poll(async () => (await json(after.url, '/api/stats')).log.waiting, { timeout: 25_000 })
    .toBe(0)
  expect(after.count()).toBe(kept)
  expect(kept).toBeGreaterThan(0)
})

test('a worker delivers to destinations, a front does not', async () => {
  const { url: log } = await startNats()
  const got: string[] = []
  const hook = createServer((request, response) => {
    got.push(String(request.headers['idempotency-key']))
    request.resume().on('end', () => response.end())
  })
  hook.listen(0, '127.0.0.1')
  await once(hook, 'listening')
  onTestFinished(() => void hook.close())
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`
  const store = newStore()
  const withHook = { ...config, destinations: [{ name: 'Hook', type: 'webhook' as const, url }] }
  const front = await openCollector({ log, store, config: withHook })
  await post(front, '/v1/track', track())
  expect(got).toEqual([])

  const worker = await openCollector({ log, work: true, store, config: withHook })

  await worker.waitFor({ q: 'delivery:delivered', timeout: 20_000 })
  expect(got).toHaveLength(1)
})

test('a destination that only fronts or only workers know is reported', async () => {
  const { url: log } = await startNats()
  const store = newStore()
  const files = (name: string) => [{ name, type: 'file' as const, path: `${newStore()}.ndjson` }]
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
