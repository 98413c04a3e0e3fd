import { expect, onTestFinished, test } from 'vitest'
import { Analytics } from '../../src/index.ts'
import { config, privatePem } from './support/oauth.ts'
import { openCollector } from './support.ts'

type Settings = ConstructorParameters<typeof Analytics>[0]

function openClient(settings: Settings): Analytics {
  const analytics = new Analytics(settings)
  onTestFinished(async () => {
    await analytics.closeAndFlush({ timeout: 1000 })
  })
  return analytics
}

test('our SDK sends all six kinds and every field arrives', async () => {
  const collector = await openCollector()
  const analytics = openClient({ writeKey: 'web-shop', host: collector.url })
  const common = {
    timestamp: new Date('2026-05-17T09:30:00.000Z'),
    context: { ip: '203.0.113.9', locale: 'de-DE' },
    integrations: { All: true, Warehouse: false },
  }

  analytics.identify({
    userId: 'u1',
    traits: { email: 'zoë@example.com' },
    messageId: 'm-identify',
    ...common,
  })
  analytics.track({
    userId: 'u1',
    event: 'Order "Größe L"',
    properties: { total: 19.9 },
    messageId: 'm-track',
    ...common,
  })
  analytics.page({ userId: 'u1', name: 'Cart', category: 'Shop', messageId: 'm-page', ...common })
  analytics.screen({
    anonymousId: 'a1',
    name: 'Home',
    properties: { depth: 2 },
    messageId: 'm-screen',
    ...common,
  })
  analytics.group({ userId: 'u1', groupId: 'g1', traits: { plan: 'gold' }, messageId: 'm-group', ...common })
  analytics.alias({ userId: 'u1', previousId: 'a1', messageId: 'm-alias', ...common })
  const summary = await analytics.flush()

  expect(summary).toMatchObject({ delivered: 6, failed: 0, pending: 0 })
  const expected: Record<string, object> = {
    identify: { userId: 'u1', traits: { email: 'zoë@example.com' } },
    track: { userId: 'u1', event: 'Order "Größe L"', properties: { total: 19.9 } },
    page: { userId: 'u1', name: 'Cart', properties: { category: 'Shop' } },
    screen: { anonymousId: 'a1', name: 'Home', properties: { depth: 2 } },
    group: { userId: 'u1', groupId: 'g1', traits: { plan: 'gold' } },
    alias: { userId: 'u1', previousId: 'a1' },
  }
  const records = collector.events({ status: 'accepted', source: 'web-shop' })
  expect(records.map(({ type }) => type).sort()).toEqual(Object.keys(expected).sort())
  for (const { type, message } of records) {
    expect(message).toMatchObject({
      ...expected[type ?? ''],
      type,
      messageId: `m-${type}`,
      originalTimestamp: '2026-05-17T09:30:00.000Z',
      integrations: common.integrations,
      context: { ...common.context, library: { name: 'trackpost', version: expect.any(String) } },
    })
  }
})

test('our SDK gets a token, and gets a new token when the first one is revoked', async () => {
  const collector = await openCollector({ config: { ...config, rejectUnknownKeys: true } })
  const analytics = openClient({
    writeKey: 'shop-key',
    host: collector.url,
    oauthSettings: { clientId: 'app', clientKey: privatePem, keyId: 'k1', authServer: collector.url },
  })

  analytics.track({ userId: 'u1', event: 'Before' })
  await analytics.flush()
  await collector.revokeTokens()
  analytics.track({ userId: 'u1', event: 'After' })
  const summary = await analytics.flush()

  expect(summary).toMatchObject({ failed: 0, pending: 0 })
  expect(collector.events({ status: 'accepted' }).map(({ name }) => name)).toEqual(['Before', 'After'])
  expect(collector.count({ reason: 'expired_token' })).toBe(1)
})
