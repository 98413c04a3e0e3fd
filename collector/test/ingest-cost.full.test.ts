import { statSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { expectCheap, HEAP, heavy, items, MB, peakOf, REQUESTS, send, warmUp } from './ingest-cost.ts'
import { newDatabaseFile, start } from './support/process.ts'

// Only Linux has /proc, from which the test reads the peak memory of a process.
const linuxTest = process.platform === 'linux' ? test : test.skip

linuxTest(
  'a request whose items inherit too much data from their batch uses little memory, and gets 200',
  async () => {
    const store = newDatabaseFile()
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
  const running = await start(['--port', '0', '--store', newDatabaseFile()])
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
  const store = newDatabaseFile()
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
