import { expect, onTestFinished } from 'vitest'
import { TIER } from '../../scripts/tiers.mjs'
import { startFront } from '../src/front.ts'
import { decode } from '../src/stream/message.ts'
import { natsTest, startNats } from './support/nats.ts'
import { attached, openStream, SETTINGS, startWorker, until } from './support/stream.ts'

/** What is promised, or much more where other suites keep the machine busy. */
const LIMIT_MS = TIER === 'full' ? 5000 : 60_000

async function openFront(address: string, given: { maxBytes?: number; config?: object } = {}) {
  const faults: string[] = []
  const { maxBytes = SETTINGS.maxBytes, config } = given
  const front = await startFront({
    address,
    settings: { replicas: 1, maxBytes },
    port: 0,
    host: '127.0.0.1',
    allowPublic: false,
    ...(config !== undefined && { config }),
    onFault: (what, cause) => faults.push(`${what}: ${(cause as Error).message}`),
  })
  onTestFinished(() => front.close())
  const ready = async () => (await fetch(`${front.url}/readyz`)).status === 200
  const post = (path: string, body: unknown) =>
    fetch(`${front.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Basic ${btoa('key:')}` },
      body: JSON.stringify(body),
    })
  const status = async () => {
    const startMs = performance.now()
    const response = await post('/v1/track', track('late'))
    expect(performance.now() - startMs).toBeLessThan(LIMIT_MS)
    return `${response.status} ${response.headers.get('retry-after')}`
  }
  return { front, faults, ready, post, status }
}

const track = (messageId: string) => ({ type: 'track', userId: 'zoë', event: 'Paid', messageId })

natsTest('a request is answered 200 when the stream has its events', async () => {
  const { url } = await startNats()
  const stream = await openStream(url)
  const { memory } = startWorker(stream)
  await attached(stream)
  const { front, ready, post } = await openFront(url, {
    config: { sources: [{ name: 'shop', writeKey: 'key' }] },
  })
  await until(ready)

  const batch = [track('a'), track('b'), { type: 'track', userId: 'u', messageId: 'no event' }, track('a')]
  expect((await post('/v1/batch', { batch, context: { app: { name: 'Web' } } })).status).toBe(200)
  expect((await post('/v1/track', { userId: 'u', event: 'without an id' })).status).toBe(200)

  await until(() => memory.written.length === 3)
  expect(memory.written.toSorted()).toEqual(['a', 'b', expect.stringMatching(/^collector-/)])
  const metrics = await (await fetch(`${front.url}/metrics`)).text()
  expect(metrics).toContain('trackpost_cluster_published_total 5\n')
  expect(metrics).toContain('trackpost_cluster_ready 1\n')
  expect(metrics).toContain('trackpost_cluster_publish_seconds_count 2\n')
})

natsTest('the stream has the whole message, with the source and what the batch adds', async () => {
  const { url } = await startNats()
  const stream = await openStream(url)
  const { memory } = startWorker(stream)
  let open = () => {}
  memory.gate = new Promise<void>((resolve) => {
    open = resolve
  })
  onTestFinished(() => open())
  await attached(stream)
  const { ready, post } = await openFront(url, { config: { sources: [{ name: 'shop', writeKey: 'key' }] } })
  await until(ready)

  await post('/v1/batch', {
    batch: [track('a')],
    context: { app: { name: 'Web' } },
    integrations: { All: false },
  })

  const stored = await stream.manager.streams.getMessage('trackpost', { last_by_subj: 'trackpost.accepted' })
  const event = decode(stored?.data ?? new Uint8Array())
  expect(event).toMatchObject({ source: 'shop', messageId: 'a', reason: null, kind: 'track' })
  expect(JSON.parse(String(event.body))).toMatchObject({
    event: 'Paid',
    context: { app: { name: 'Web' } },
    integrations: { All: false },
  })
})

natsTest('without a destination, events get 503, since the stream would keep none', async () => {
  const { url } = await startNats()
  const { front, ready, status } = await openFront(url)
  await until(async () => (await (await fetch(`${front.url}/readyz`)).text()).includes('no destination'))

  expect(await status()).toBe('503 5')

  const stream = await openStream(url)
  startWorker(stream)
  await until(ready)
  expect(await status()).toBe('200 null')
})

natsTest(
  'while the stream hangs, is killed or cannot be reached, events get 503, in the night within five seconds',
  async () => {
    const server = await startNats()
    const stream = await openStream(server.url)
    const { memory } = startWorker(stream)
    await attached(stream)
    const { faults, ready, status } = await openFront(server.url)
    await until(ready)

    await server.pause()
    const answers = await Promise.all(Array.from({ length: 20 }, status))
    expect(new Set(answers)).toEqual(new Set(['503 5']))
    expect(await status()).toBe('503 5')
    expect(faults).toContain('the stream cannot be used: the stream does not answer in time')
    server.resume()
    await until(ready)
    expect(await status()).toBe('200 null')

    await server.kill()
    expect(await status()).toBe('503 5')
    await server.start()
    await until(ready)
    expect(await status()).toBe('200 null')
    await until(() => memory.written.includes('late'))
  },
)

natsTest('a full stream refuses events until there is room, and forgets none', async () => {
  const { url } = await startNats()
  const { memory, worker } = await (async () => {
    const first = await openFront(url, { maxBytes: 50_000 })
    await until(async () =>
      (await (await fetch(`${first.front.url}/readyz`)).text()).includes('no destination'),
    )
    const started = startWorker(await openStream(url))
    started.memory.isDown = true
    return started
  })()
  const { front, ready, post } = await openFront(url, { maxBytes: 50_000 })
  await until(ready)

  const taken: string[] = []
  let status = 200
  for (let number = 0; status === 200; number++) {
    status = (await post('/v1/track', { ...track(`id-${number}`), properties: { text: 'x'.repeat(2000) } }))
      .status
    if (status === 200) taken.push(`id-${number}`)
  }
  expect(status).toBe(503)
  expect(taken.length).toBeGreaterThan(5)
  expect(await (await fetch(`${front.url}/readyz`)).text()).toContain('the stream is full')

  memory.isDown = false
  await until(() => taken.every((id) => memory.written.includes(id)))
  await until(ready)
  await worker.close()
})

natsTest('a stream that could lose events is refused', async () => {
  const { url } = await startNats()
  const stream = await openStream(url)
  await stream.manager.streams.update('trackpost', { max_age: 600_000_000_000 })
  const { front, status } = await openFront(url)

  await until(async () =>
    (await (await fetch(`${front.url}/readyz`)).text()).includes('it could lose events'),
  )
  expect(await status()).toBe('503 5')
})
