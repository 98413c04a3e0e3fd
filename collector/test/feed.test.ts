import { expect, test, vi } from 'vitest'
import type { FeedParts } from '../src/feed.ts'
import type { NewEvent } from '../src/index.ts'
import { version } from '../src/version.ts'
import { openCollector } from './support.ts'

const opened: Array<{ address: string; parts: FeedParts }> = []

vi.mock('trackpost-cluster', () => ({
  version,
  async openFeed(address: string, parts: FeedParts) {
    if (address === 'nats://nowhere') throw new Error('expected nats://<host>')
    opened.push({ address, parts })
    return { address: 'nats://host', close: async () => {} }
  },
}))

test('the events of a stream are shown, repeats once, and are not delivered from here', async () => {
  const collector = await openCollector({ log: 'nats://user:secret@host' })
  const event: NewEvent = {
    ...{ source: 'shop', reason: null, kind: 'track', name: 'Order', userId: 'ada', anonymousId: null },
    ...{ messageId: 'm-1', receivedAtMs: 1, receivedAt: new Date(1).toISOString(), timestampMs: 1 },
    ...{ body: '{"event":"Order"}', deliveries: [{ destination: 'Hook' }], requestId: 9 },
  }

  await opened[0]?.parts.append([event])
  await opened[0]?.parts.append([event])

  expect(
    collector
      .events()
      .map(({ name, reason, destinations, request }) => [name, reason, destinations, request]),
  ).toEqual([
    ['Order', null, [], null],
    ['Order', 'duplicate', [], null],
  ])
  expect(await (await fetch(`${collector.url}/api/about`)).json()).toMatchObject({ log: 'nats://host' })
})

test('an address that the package refuses is a setting that cannot be used', async () => {
  await expect(openCollector({ log: 'nats://nowhere' })).rejects.toThrow('log: expected nats://<host>')
})
