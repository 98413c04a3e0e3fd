import { Analytics as CustomerIo } from '@customerio/cdp-analytics-node'
import RudderAnalytics from '@rudderstack/rudder-sdk-node'
import { Analytics as SegmentNode } from '@segment/analytics-node'
import SegmentAnalytics from 'analytics-node'
import { expect, test } from 'vitest'
import { Analytics as Trackpost } from '../../../src/index.ts'
import { config, privatePem } from '../support/oauth.ts'
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
  flush?(): Promise<unknown>
  closeAndFlush?(): Promise<unknown>
}

/** Each client as its users start it, and without changes. */
const CLIENTS: Array<[name: string, open: (host: string) => unknown]> = [
  ['trackpost', (host) => new Trackpost({ writeKey: 'web-shop', host })],
  ['analytics-node 6', (host) => new SegmentAnalytics('web-shop', { host, flushAt: 6, flushInterval: 100 })],
  ['@segment/analytics-node', (host) => new SegmentNode({ writeKey: 'web-shop', host })],
  ['@customerio/cdp-analytics-node', (host) => new CustomerIo({ writeKey: 'web-shop', host })],
  [
    '@rudderstack/rudder-sdk-node, which sends gzipped JSON with the content type of a form',
    (dataPlaneUrl) => new RudderAnalytics('web-shop', { dataPlaneUrl, flushInterval: 100 }),
  ],
  [
    '@rudderstack/rudder-sdk-node without gzip',
    (dataPlaneUrl) => new RudderAnalytics('web-shop', { dataPlaneUrl, flushInterval: 100, gzip: false }),
  ],
]

test.each(CLIENTS)('all six kinds and every field of %s arrive', async (_name, open) => {
  const collector = await openCollector()
  const client = open(collector.url) as Client
  const context = { ip: '203.0.113.9', locale: 'de-DE' }
  const integrations = { All: true, Warehouse: false }
  const sent = {
    identify: { userId: 'u1', traits: { email: 'zoë@example.com' } },
    track: { userId: 'u1', event: 'Order "Größe L"', properties: { total: 19.9, items: ['a', 'b'] } },
    page: { userId: 'u1', name: 'Cart', properties: { url: 'https://example.com/cart' } },
    screen: { userId: 'u1', name: 'Home', properties: { depth: 2 } },
    group: { userId: 'u1', groupId: 'g1', traits: { plan: 'gold' } },
    alias: { userId: 'u1', previousId: 'a1' },
  }

  for (const [kind, message] of Object.entries(sent)) {
    const timestamp = new Date('2026-05-17T09:30:00.000Z')
    client[kind as keyof typeof sent]({ ...message, timestamp, context, integrations })
  }
  await (client.closeAndFlush?.() ?? client.flush?.())

  const records = await collector.waitFor({ count: 6 })
  const common = { originalTimestamp: '2026-05-17T09:30:00.000Z', context, integrations }
  expect(Object.fromEntries(records.map(({ type, message }) => [type, message]))).toMatchObject(
    Object.fromEntries(Object.entries(sent).map(([kind, message]) => [kind, { ...message, ...common }])),
  )
  expect(records.map(({ source, status }) => [source, status])).toEqual(
    Array(6).fill(['web-shop', 'accepted']),
  )
})

test.each([
  ['trackpost', Trackpost],
  ['@segment/analytics-node', SegmentNode as unknown as typeof Trackpost],
])('%s gets a token with its OAuth settings and sends it', async (_name, Analytics) => {
  const collector = await openCollector({ config: { ...config, rejectUnknownKeys: true } })
  const analytics = new Analytics({
    writeKey: 'shop-key',
    host: collector.url,
    flushAt: 1,
    oauthSettings: {
      clientId: 'app',
      clientKey: privatePem,
      keyId: 'k1',
      authServer: collector.url,
      scope: 'tracking_api:write',
    },
  })

  analytics.track({ userId: 'u1', event: 'Signed in by token' })

  expect(await collector.waitFor({ event: 'Signed in by token' })).toMatchObject([{ source: 'shop' }])
  await analytics.closeAndFlush()
})
