import { Analytics } from '@segment/analytics-node'
import { expect, test } from 'vitest'
import { config, privatePem } from '../support/oauth.ts'
import { openCollector } from '../support.ts'

test('@segment/analytics-node, unchanged, sends all six kinds and every field arrives', async () => {
  const collector = await openCollector()
  const analytics = new Analytics({
    writeKey: 'web-shop',
    host: collector.url,
    flushAt: 6,
    flushInterval: 50,
  })
  const timestamp = new Date('2026-05-17T09:30:00.000Z')
  const context = { ip: '203.0.113.9', locale: 'de-DE' }
  const integrations = { All: true, Warehouse: false }
  const common = { timestamp, context, integrations }

  analytics.identify({
    userId: 'u1',
    traits: { email: 'zoë@example.com' },
    messageId: 'm-identify',
    ...common,
  })
  analytics.track({
    userId: 'u1',
    event: 'Order Completed',
    properties: { total: 19.9 },
    messageId: 'm-track',
    ...common,
  })
  analytics.page({
    userId: 'u1',
    name: 'Cart',
    category: 'Shop',
    properties: { url: 'https://example.com' },
    messageId: 'm-page',
    ...common,
  })
  analytics.screen({
    anonymousId: 'a1',
    name: 'Home',
    properties: { depth: 2 },
    messageId: 'm-screen',
    ...common,
  })
  analytics.group({ userId: 'u1', groupId: 'g1', traits: { plan: 'gold' }, messageId: 'm-group', ...common })
  analytics.alias({ userId: 'u1', previousId: 'a1', messageId: 'm-alias', ...common })
  await analytics.closeAndFlush()

  const records = await collector.waitFor({ count: 6 })
  const own = Object.fromEntries(records.map((record) => [record.type, record]))
  const shared = {
    source: 'web-shop',
    status: 'accepted',
    reason: null,
  }
  const sharedMessage = {
    originalTimestamp: '2026-05-17T09:30:00.000Z',
    timestamp: expect.stringMatching(/^2026-05-17T09:(29:5|30:0)\d\.\d{3}Z$/),
    receivedAt: expect.stringMatching(/^\d{4}-/),
    sentAt: expect.stringMatching(/^\d{4}-/),
    context: { ...context, library: { name: '@segment/analytics-node', version: expect.any(String) } },
    integrations,
    _metadata: { nodeVersion: process.version, jsRuntime: 'node' },
  }
  const expected: Record<string, [record: object, message: object]> = {
    identify: [
      { name: null, userId: 'u1' },
      { userId: 'u1', traits: { email: 'zoë@example.com' } },
    ],
    track: [
      { name: 'Order Completed', userId: 'u1' },
      { userId: 'u1', event: 'Order Completed', properties: { total: 19.9 } },
    ],
    page: [
      { name: 'Cart', userId: 'u1' },
      {
        userId: 'u1',
        name: 'Cart',
        category: 'Shop',
        properties: { url: 'https://example.com', category: 'Shop' },
      },
    ],
    screen: [
      { name: 'Home', anonymousId: 'a1' },
      { anonymousId: 'a1', name: 'Home', properties: { depth: 2 } },
    ],
    group: [
      { name: 'g1', userId: 'u1' },
      { userId: 'u1', groupId: 'g1', traits: { plan: 'gold' } },
    ],
    alias: [
      { name: 'a1', userId: 'u1' },
      { userId: 'u1', previousId: 'a1' },
    ],
  }
  expect(Object.keys(own).sort()).toEqual(Object.keys(expected).sort())
  for (const [kind, [record, message]] of Object.entries(expected)) {
    expect(own[kind]).toMatchObject({ ...shared, ...record, type: kind, messageId: `m-${kind}` })
    expect(own[kind]?.message).toEqual({ ...sharedMessage, ...message, type: kind, messageId: `m-${kind}` })
  }
})

test('@segment/analytics-node, unchanged, gets a token with its OAuth settings and sends it', async () => {
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
  const headers: unknown[] = []
  analytics.on('http_request', (request) => headers.push(request.headers))

  analytics.track({ userId: 'u1', event: 'Signed in by token' })

  expect(await collector.waitFor({ event: 'Signed in by token' })).toMatchObject([{ source: 'shop' }])
  expect(JSON.stringify(headers)).toContain('Bearer ')
  await analytics.closeAndFlush()
})
