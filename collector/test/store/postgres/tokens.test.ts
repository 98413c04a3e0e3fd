import { expect, onTestFinished, test } from 'vitest'
import { Analytics } from '../../../../src/index.ts'
import { assertion, ours, requestToken } from '../../support/oauth.ts'
import { describeWithPostgres, newDatabase } from '../../support/postgres.ts'
import { startRoundRobin } from '../../support/round-robin.ts'
import {
  expectAssertionsUsedOnce,
  expectSharedTokens,
  oauthConfig,
  startSeveral,
  tokenOf,
} from '../../support/several.ts'
import { basic, post, track } from '../../support.ts'
import { connect, rowsOf } from './open.ts'
import { NOTE_WINDOWS, windowsOf } from './windows.ts'

const AUDIENCE = 'https://events.example.com'

describeWithPostgres('tokens and rates of processes on one database', () => {
  test('a token that one gave, all take, also after its death and a restart of all; what one revokes, all refuse', async () => {
    const address = await newDatabase()
    await expectSharedTokens(() => startSeveral(2, '--store', address, '--config', oauthConfig()))
  })

  test('an assertion that is sent to all at the same time buys one token', async () => {
    const config = oauthConfig({ publicUrl: AUDIENCE })
    const processes = await startSeveral(2, '--store', await newDatabase(), '--config', config)

    await expectAssertionsUsedOnce(processes, AUDIENCE)
  })

  test('of a source with 50 requests a second, no more than 50 are taken in a window, by all together', async () => {
    const address = await newDatabase()
    const config = oauthConfig({ rate: 50 })
    const processes = await startSeveral(2, '--store', address, '--config', config)
    const client = await connect(address)
    await client.query(NOTE_WINDOWS)

    const statuses = await Promise.all(
      Array.from({ length: 300 }, (_, turn) =>
        post(processes[turn % 2] ?? processes[0], '/v1/track', track(), {
          authorization: basic('shop-key'),
        }).then(({ status }) => status),
      ),
    )

    const windows = await windowsOf(client, 'shop')
    const taken = statuses.filter((status) => status === 200).length
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
    expect(Math.max(...windows)).toBe(50)
    expect(windows.reduce((sum, count) => sum + count, 0)).toBe(taken)
    expect(await rowsOf(client, 'SELECT count(*) FROM event WHERE reason IS NULL')).toEqual([[String(taken)]])
  })

  test('the SDK gets one token, and uses it at whichever process a proxy chooses', async () => {
    const proxy = await startRoundRobin()
    const address = await newDatabase()
    const config = oauthConfig({ publicUrl: proxy.url })
    const processes = await startSeveral(2, '--store', address, '--config', config)
    proxy.servers = processes.map(({ url }) => url)
    const analytics = new Analytics({
      writeKey: 'shop-key',
      host: proxy.url,
      flushAt: 5,
      oauthSettings: { clientId: 'app', keyId: 'k1', clientKey: ours.privateKey, authServer: proxy.url },
    })
    onTestFinished(() => analytics.closeAndFlush({ timeout: 1000 }).then(() => {}))

    for (let round = 0; round < 5; round++) {
      for (let nth = 0; nth < 20; nth++) analytics.track({ userId: 'ada', event: `Event ${nth}` })
      expect(await analytics.flush()).toMatchObject({ failed: 0, pending: 0 })
    }
    expect(proxy.requests.filter(({ path }) => path === '/token')).toMatchObject([{ status: 200 }])
    const batches = proxy.requests.filter(({ path }) => path !== '/token')
    expect(new Set(batches.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(batches.map(({ server }) => server))).toEqual(new Set(proxy.servers))
    const client = await connect(address)
    expect(await rowsOf(client, 'SELECT count(*), count(DISTINCT message_id) FROM event')).toEqual([
      ['100', '100'],
    ])
  })

  test('the private key is in the database, and nowhere else', async () => {
    const address = await newDatabase()
    const [one, two] = await startSeveral(2, '--store', address, '--config', oauthConfig())
    await tokenOf(one)
    const client = await connect(address)
    const [[kept] = []] = await rowsOf(client, 'SELECT value FROM kept_value')
    const { privateKey } = JSON.parse(String(kept)).signing
    const paths = [
      '/api/about',
      '/api/stats',
      '/api/events?full=true',
      '/api/requests',
      '/api/overview',
      '/metrics',
      '/readyz',
    ]
    const texts = await Promise.all(paths.map(async (path) => (await fetch(`${one.url}${path}`)).text()))

    // The store is there, and what it keeps cannot be used: that is said, without a part of it.
    await client.query('UPDATE kept_value SET value = replace(value, \'"format":1\', \'"format":9\')')
    const refused = await requestToken(two, await assertion(two, { nowMs: Date.now() }))
    expect(refused).toMatchObject({ status: 503, error: 'temporarily_unavailable' })

    const logged = [one, two].map(({ lines, stderr }) => `${stderr()}${JSON.stringify(lines)}`).join('')
    expect(logged).toContain('keys of tokens')
    expect(privateKey).toMatch(/^[\w+/=]{100,}$/)
    expect(`${texts.join('')}${logged}`).not.toContain(privateKey.slice(40, 80))
  })
})
