import { generateKeyPairSync } from 'node:crypto'
import { Analytics } from '@segment/analytics-node'
import { expect, test } from 'vitest'
import { openCollector } from '../support.ts'

test('@segment/analytics-node, unchanged, gets a token with its OAuth settings and sends it', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const collector = await openCollector({
    config: {
      sources: [{ name: 'shop', writeKey: 'shop-key' }],
      rejectUnknownKeys: true,
      oauth: { applications: [{ clientId: 'app', keys: [{ keyId: 'k1', publicKey }] }] },
    },
  })
  const analytics = new Analytics({
    writeKey: 'shop-key',
    host: collector.url,
    flushAt: 1,
    oauthSettings: {
      clientId: 'app',
      clientKey: privateKey,
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
