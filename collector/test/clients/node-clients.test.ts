import { Analytics as CustomerIo } from '@customerio/cdp-analytics-node'
import RudderAnalytics from '@rudderstack/rudder-sdk-node'
import { Analytics as SegmentNode } from '@segment/analytics-node'
import SegmentAnalytics from 'analytics-node'
import { expect, test } from 'vitest'
import { openCollector } from '../support.ts'

/** Some of these clients call `done` when the event was sent. */
type Call = (message: object, done?: () => void) => unknown
interface Client {
  identify: Call
  track: Call
  page: Call
  screen: Call
  group: Call
  alias: Call
}

function sendAll(client: Client): void {
  client.identify({ userId: 'u1', traits: { email: 'zoë@example.com' } })
  client.track({ userId: 'u1', event: 'Order Completed', properties: { total: 19.9, items: ['a', 'b'] } })
  client.page({ userId: 'u1', name: 'Cart', properties: { url: 'https://example.com/cart' } })
  client.screen({ userId: 'u1', name: 'Home', properties: { depth: 2 } })
  client.group({ userId: 'u1', groupId: 'g1', traits: { plan: 'gold' } })
  client.alias({ userId: 'u1', previousId: 'a1' })
}

const expected = {
  identify: { userId: 'u1', message: { traits: { email: 'zoë@example.com' } } },
  track: { name: 'Order Completed', message: { properties: { total: 19.9, items: ['a', 'b'] } } },
  page: { name: 'Cart', message: { properties: { url: 'https://example.com/cart' } } },
  screen: { name: 'Home', message: { properties: { depth: 2 } } },
  group: { name: 'g1', message: { groupId: 'g1', traits: { plan: 'gold' } } },
  alias: { name: 'a1', message: { previousId: 'a1', userId: 'u1' } },
}

type Collector = Awaited<ReturnType<typeof openCollector>>

async function expectAll(collector: Collector, source: string): Promise<void> {
  const records = await collector.waitFor({ count: 6 })
  expect(Object.fromEntries(records.map((record) => [record.type, record]))).toMatchObject(expected)
  expect(records.map((record) => [record.source, record.status])).toEqual(Array(6).fill([source, 'accepted']))
  expect(collector.count({ status: 'rejected' })).toBe(0)
}

test('the events of an unmodified analytics-node 6 are accepted', async () => {
  const collector = await openCollector()
  const client = new SegmentAnalytics('web-shop', { host: collector.url, flushAt: 6, flushInterval: 100 })

  sendAll(client)
  await client.flush()

  await expectAll(collector, 'web-shop')
})

test.each([
  ['@segment/analytics-node', SegmentNode],
  ['@customerio/cdp-analytics-node', CustomerIo],
])('the events of an unmodified %s are accepted', async (_name, Client) => {
  const collector = await openCollector()
  const client = new Client({ writeKey: 'web-shop', host: collector.url })

  sendAll(client as unknown as Client)
  await client.closeAndFlush()

  await expectAll(collector, 'web-shop')
})

test.each([
  ['with its defaults, which send gzipped JSON with the content type of a form', {}],
  ['without gzip', { gzip: false }],
])('@rudderstack/rudder-sdk-node sends events that are accepted, %s', async (_how, options) => {
  const collector = await openCollector()
  const client = new RudderAnalytics('web-shop', {
    dataPlaneUrl: collector.url,
    flushInterval: 100,
    ...options,
  })

  sendAll(client as unknown as Client)
  await client.flush()

  await expectAll(collector, 'web-shop')
})
