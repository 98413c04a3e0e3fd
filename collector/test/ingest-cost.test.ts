import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { newFolder, type Running, start } from './ops/process.ts'
import { natsTest, startNats } from './support/nats.ts'
import { basic } from './support.ts'

const HEAP = { NODE_OPTIONS: '--max-old-space-size=300' }
const REQUESTS = 6
const MB = 1024 * 1024

/** Many small items with a large inherited context; 500 KB in total. */
const items = Array.from({ length: 5000 }, () => '{"type":"track","event":"a","userId":"u"}').join()
const heavy = `{"context":{"x":"${'x'.repeat(290_000)}"},"batch":[${items}]}`

function peakOf({ child }: Running): number {
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

// Only Linux has /proc, from which the test reads the peak memory of a process.
const linuxTest = process.platform === 'linux' ? test : test.skip
const linuxNatsTest = process.platform === 'linux' ? natsTest : test.skip

/** Not `fetch`: it would keep this process so busy that the health checks wait here, and not in the collector. */
async function send(
  url: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<number | undefined> {
  const sent = request(`${url}/v1/batch`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: basic('shop'), ...headers },
  }).end(body)
  const [response] = await once(sent, 'response')
  await once(response.resume(), 'end')
  return response.statusCode
}

async function expectCheap(running: Running, body: string): Promise<void> {
  await warmUp(running)
  const before = peakOf(running)
  const done = Promise.all(Array.from({ length: REQUESTS }, () => send(running.url, body)))
  let isDone = false
  void done.finally(() => {
    isDone = true
  })
  let healthy = 0
  while (!isDone) if ((await fetch(`${running.url}/healthz`)).ok) healthy++

  expect(await done).toEqual(Array(REQUESTS).fill(200))
  expect(peakOf(running) - before).toBeLessThan(150 * MB)
  // A blocked process would respond once or twice. Unlike a time, this count is valid on any machine.
  expect(healthy).toBeGreaterThan(REQUESTS)
}

/** Sends some requests first, so that the memory for the first requests of a process is not counted. */
async function warmUp({ url }: Running): Promise<void> {
  const tiny = '{"batch":[{"type":"track","event":"a","userId":"u","messageId":"m1"}]}'
  for (let count = 0; count < 20; count++) await send(url, tiny)
}

linuxTest(
  'a request whose items inherit too much data from their batch uses little memory, and gets 200',
  async () => {
    const store = join(newFolder(), 'events.db')
    const running = await start(['--port', '0', '--store', store], HEAP)

    await expectCheap(running, heavy)

    const stats = await (await fetch(`${running.url}/api/events?q=reason:event_too_large&limit=1`)).json()
    expect(stats.events[0]).toMatchObject({ name: 'a', userId: 'u', reason: 'event_too_large' })
    running.child.kill('SIGTERM')
    expect(await running.ended).toEqual([0, null])
    expect(statSync(store).size).toBeLessThan(3 * REQUESTS * heavy.length)
  },
)

linuxTest('500 requests of 600 bytes that inflate to 500 KB use little memory', async () => {
  const running = await start(['--port', '0', '--store', join(newFolder(), 'events.db')])
  await warmUp(running)
  const before = peakOf(running)
  const body = gzipSync(`{"batch":[${' '.repeat(490_000)}]}`)

  const statuses = await Promise.all(
    Array.from({ length: 500 }, () => send(running.url, body, { 'content-encoding': 'gzip' })),
  )

  expect(statuses).toEqual(Array(500).fill(200))
  expect(peakOf(running) - before).toBeLessThan(150 * MB)
})

linuxTest('of messages that inherit much data, those beyond 4 MB in a batch are too large', async () => {
  const running = await start(['--port', '0', '--store', ':memory:'])
  const body = `{"context":{"x":"${'x'.repeat(30_000)}"},"batch":[${items}]}`

  expect(await send(running.url, body)).toBe(200)

  const count = async (q: string) => (await (await fetch(`${running.url}/api/count?q=${q}`)).json()).count
  // Each message has 30,053 bytes with its context.
  expect(await count('status:accepted')).toBe(133)
  expect(await count('reason:event_too_large')).toBe(5000 - 133)
})

linuxTest('data that 5,000 items inherit is stored once', async () => {
  const store = join(newFolder(), 'events.db')
  const running = await start(['--port', '0', '--store', store], HEAP)
  const shared = `{"context":{"x":"${'x'.repeat(700)}"},"batch":[${items}]}`

  await expectCheap(running, shared)

  const { events } = await (await fetch(`${running.url}/api/events?q=context.x:*&limit=1`)).json()
  expect(events[0]).toMatchObject({ status: 'accepted', name: 'a' })
  running.child.kill('SIGTERM')
  await running.ended
  // If each of the 30,000 events had its own copy of the shared data, the store would have 20 MB more.
  expect(statSync(store).size).toBeLessThan(18 * MB)
})

linuxNatsTest('a process with a log also uses little memory if items inherit too much data', async () => {
  const { url: log } = await startNats()
  const running = await start(['--port', '0', '--log', log], HEAP)

  await expectCheap(running, heavy)
})

test('only the item that is larger than 32 KB with its inherited data is refused', async () => {
  const running = await start(['--port', '0', '--store', ':memory:'])
  const inherited = { context: { x: 'x'.repeat(30_000) }, integrations: { All: true } }
  const item = (messageId: string, bytes: number) => {
    const empty = JSON.stringify({ type: 'track', event: 'a', userId: 'u', messageId, properties: { y: '' } })
    return empty.replace('"y":""', `"y":"${'y'.repeat(bytes - empty.length)}"`)
  }
  const room = 32_768 - JSON.stringify(inherited).length

  const body = `${JSON.stringify(inherited).slice(0, -1)},"batch":[${item('fits', room)},${item('not', room + 1)}]}`
  expect(await send(running.url, body)).toBe(200)

  const { events } = await (await fetch(`${running.url}/api/events?order=oldest`)).json()
  expect(events.map(({ messageId, reason }: Record<string, unknown>) => [messageId, reason])).toEqual([
    ['fits', null],
    ['not', 'event_too_large'],
  ])
  expect(events[0].message).toMatchObject(inherited)
  expect(events[1].message.context).toBeUndefined()
})

test('a context of 2 KB is merged into each item, with or without a context of its own', async () => {
  const running = await start(['--port', '0', '--store', ':memory:'])
  const context = { app: { name: 'Shop', text: 'x'.repeat(2000) }, locale: 'de-DE', direct: true }
  const item = (messageId: string, own: object) => ({
    type: 'track',
    event: 'a',
    userId: 'u',
    messageId,
    ...own,
  })
  const batch = [
    item('none', {}),
    item('own', { context: { locale: 'fr', direct: false } }),
    item('empty', { context: null, integrations: {} }),
  ]

  expect(await send(running.url, JSON.stringify({ context, integrations: { CRM: false }, batch }))).toBe(200)

  const { events } = await (await fetch(`${running.url}/api/events?order=oldest`)).json()
  const ip = '127.0.0.1'
  expect(events.map(({ message }: { message: object }) => message)).toMatchObject([
    { context: { ...context, ip }, integrations: { CRM: false } },
    { context: { ...context, locale: 'fr', direct: false }, integrations: { CRM: false } },
    { context: { ...context, ip }, integrations: { CRM: false } },
  ])
  expect(events[1].message.context).not.toHaveProperty('ip')
  const detail = async (index: number) =>
    (await fetch(`${running.url}/api/events/${events[index].id}`)).json()
  expect((await detail(0)).sent).toEqual(batch[0])
  expect((await detail(0)).difference.added).toEqual(expect.arrayContaining(['context', 'integrations']))
  expect((await detail(1)).sent).toEqual(batch[1])
  expect((await detail(1)).difference.added).toEqual(expect.arrayContaining(['context.app', 'integrations']))
  expect((await detail(2)).sent).toEqual(batch[2])
  expect((await detail(2)).difference).toMatchObject({
    added: expect.arrayContaining(['integrations.CRM']),
    changed: [{ path: 'context', sent: null, kept: { ...context, ip } }],
  })
})
