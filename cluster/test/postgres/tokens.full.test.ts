import { expect, test } from 'vitest'
import { assertion, requestToken } from '../../../collector/test/support/oauth.ts'
import {
  expectSharedTokens,
  oauthConfig,
  startSeveral,
  tokenOf,
} from '../../../collector/test/support/several.ts'
import { basic, post, track } from '../../../collector/test/support.ts'
import { describeWithPostgres, newDatabase } from '../support/postgres.ts'
import { connect, rowsOf } from './open.ts'
import { stopClock } from './stopped-clock.ts'

describeWithPostgres('tokens and rates of processes on one database', () => {
  test('all processes accept a token of one of them, even after restarts, until one of them revokes it', async () => {
    const address = await newDatabase()
    await expectSharedTokens(() => startSeveral(2, '--store', address, '--config', oauthConfig()))
  })

  test('all processes together accept 50 requests a second of a source with a rate of 50', async () => {
    const address = await newDatabase()
    const client = await connect(address)
    const clock = await stopClock(client)
    const config = oauthConfig({ rate: 50 })
    const processes = await startSeveral(2, '--store', address, '--config', config)
    const headers = { authorization: basic('shop-key') }
    const sendAll = async (count: number) => {
      const turns = Array.from({ length: count }, (_, turn) => processes[turn % 2] ?? processes[0])
      const responses = await Promise.all(turns.map((one) => post(one, '/v1/track', track(), headers)))
      expect(responses.filter(({ status }) => status !== 200 && status !== 429)).toEqual([])
      return responses.filter(({ status }) => status === 200).length
    }

    expect(await sendAll(300)).toBe(50)
    await clock.advance(1000)
    // A process that knows that the rate is used up waits by its own clock, which the test cannot advance.
    let taken = 0
    await expect.poll(async () => (taken += await sendAll(20))).toBeGreaterThanOrEqual(50)

    expect(taken + (await sendAll(20))).toBe(50)
    expect(await rowsOf(client, 'SELECT count(*) FROM event WHERE reason IS NULL')).toEqual([['100']])
  })

  test('the private key for tokens is only in the database', async () => {
    const address = await newDatabase()
    const [one, two] = await startSeveral(2, '--store', address, '--config', oauthConfig())
    await tokenOf(one)
    const client = await connect(address)
    const [[kept] = []] = await rowsOf(client, 'SELECT value FROM kept_value')
    const { secret } = JSON.parse(String(kept)).signing
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

    // The store is available, but its keys cannot be used.
    await client.query('UPDATE kept_value SET value = replace(value, \'"format":1\', \'"format":9\')')
    const refused = await requestToken(two, await assertion(two, { nowMs: Date.now() }))
    expect(refused).toMatchObject({ status: 503, error: 'temporarily_unavailable' })

    const logged = [one, two].map(({ lines, stderr }) => `${stderr()}${JSON.stringify(lines)}`).join('')
    expect(logged).toContain('the stored key of tokens')
    expect(secret).toMatch(/^[\w+/=]{44}$/)
    expect(`${texts.join('')}${logged}`).not.toContain(secret.slice(10, 40))
  })
})
