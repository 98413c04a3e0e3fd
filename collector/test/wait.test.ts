import { join } from 'node:path'
import { expect, test } from 'vitest'
import { WaitTimeoutError } from '../src/index.ts'
import type { EventRecord } from '../src/record.ts'
import { newFolder } from './support/process.ts'
import { openCollector, post, track } from './support.ts'

test('waitFor resolves when the last missing event arrives, and counts only matching events', async () => {
  const collector = await openCollector()
  const waiting = collector.waitFor({ count: 3, event: 'A', userId: 'u1' })
  let isDone = false
  waiting.then(() => {
    isDone = true
  })

  await post(collector, '/v1/batch', {
    batch: [
      track({ event: 'A', userId: 'u1' }),
      track({ event: 'A', userId: 'u2' }),
      track({ event: 'B', userId: 'u1' }),
      { type: 'page', userId: 'u1', name: 'A' },
    ],
  })
  await post(collector, '/v1/track', track({ event: 'A', userId: 'u1' }))
  expect(isDone).toBe(false)
  await post(collector, '/v1/track', track({ event: 'A', userId: 'u1' }))

  expect(await waiting).toHaveLength(3)
})

test('waitFor counts only accepted events, unless the filter has a status or a reason', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', { userId: 'u1' })

  await expect(collector.waitFor({ userId: 'u1', timeout: 20 })).rejects.toThrow(WaitTimeoutError)
  expect(await collector.waitFor({ userId: 'u1', status: 'rejected' })).toHaveLength(1)
  expect(await collector.waitFor({ reason: 'no_event' })).toHaveLength(1)
})

test('a wait that times out lists the events that did arrive', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: 'Signed Up', userId: 'u9' }))

  const error = await collector.waitFor({ count: 2, event: 'Order', timeout: 20 }).catch((cause) => cause)

  expect(error).toMatchObject({ code: 'wait_timeout', found: 0 })
  expect(error.message).toContain('waited 20 ms for 2 records matching {"event":"Order"')
  expect(error.message).toContain('track Signed Up by u9 (accepted)')
})

test('a wait for the result of a delivery ends when the delivery has it', async () => {
  const path = join(newFolder(), 'events.ndjson')
  const config = { destinations: [{ name: 'Lines', type: 'file' as const, path }] }
  const collector = await openCollector({ config })
  const waits = ['delivery:delivered', 'destination:Lines -delivery:pending'].map((q) =>
    collector.waitFor({ q, count: 2, timeout: 20_000 }),
  )

  for (const event of ['A', 'B']) await post(collector, '/v1/track', track({ event }))

  for (const wait of waits) expect((await wait).map(({ name }) => name)).toEqual(['A', 'B'])
})

test('events that were deleted do not count', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: 'A' }))
  const waiting = collector.waitFor({ event: 'A', count: 2 })

  collector.clear()
  await post(collector, '/v1/track', track({ event: 'A', userId: 'second' }))
  await post(collector, '/v1/track', track({ event: 'A', userId: 'third' }))

  expect((await waiting).map(({ userId }) => userId)).toEqual(['second', 'third'])
})

test('a wait for very many events gets all of them', async () => {
  const collector = await openCollector()
  for (let sent = 0; sent < 3; sent++) {
    const batch = Array.from({ length: 500 }, (_, index) => track({ properties: { n: sent * 500 + index } }))
    await post(collector, '/v1/batch', { batch })
  }

  const response = await fetch(`${collector.url}/api/wait?count=1400`)

  const { events } = (await response.json()) as { events: EventRecord[] }
  expect(events.map(({ message }) => message?.properties['n'])).toEqual([...Array(1400).keys()])
  expect(await collector.waitFor({ count: 1400 })).toHaveLength(1400)
  expect(await (await fetch(`${collector.url}/api/wait?count=1&after=1499`)).json()).toMatchObject({
    events: [{ seq: 1500 }],
  })
})

test('a request to /api/wait that ends because the collector closes gets a response, and is not logged as a fault', async () => {
  const faults: string[] = []
  const collector = await openCollector({ onFault: (what) => faults.push(what) })
  const waiting = fetch(`${collector.url}/api/wait?event=never&timeout=60000`)
  await expect.poll(async () => (await fetch(`${collector.url}/api/stats`)).status).toBe(200)

  await collector.close()

  const response = await waiting
  expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([503, 'closed'])
  expect(faults).toEqual([])
})
