import { expect, onTestFinished, test } from 'vitest'
import { parseMetrics, seriesOf } from '../../../collector/test/ops/prometheus.ts'
import { openCollector, post, track } from '../../../collector/test/support.ts'
import { findPostgres } from '../../scripts/find-postgres.mjs'
import { describeWithPostgres, startPostgres } from '../support/postgres.ts'

describeWithPostgres('PostgreSQL', () => {
  test('while the database is unavailable, a collector is alive but not ready and accepts no event; then it recovers by itself', async () => {
    const server = await startPostgres(findPostgres() ?? '')
    onTestFinished(() => server.close())
    const told: string[] = []
    const collector = await openCollector({
      store: await server.newDatabase(),
      onFault: (what) => void told.push(what),
      onRecovery: (what) => void told.push(what),
    })
    const storeUnavailable = async () =>
      (await (await fetch(`${collector.url}/api/stats`)).json()).storeUnavailable
    expect(await storeUnavailable()).toBeNull()
    const readiness = async () => {
      const response = await fetch(`${collector.url}/readyz`)
      return { code: response.status, ...((await response.json()) as object) }
    }
    const metrics = async () => parseMetrics(await (await fetch(`${collector.url}/metrics`)).text())
    const part = { part: 'store', isRequired: true }
    expect(await readiness()).toMatchObject({
      code: 200,
      status: 'ready',
      parts: [{ ...part, isReady: true }],
    })
    expect((await post(collector, '/v1/track', track())).status).toBe(200)

    await server.kill()

    const refused = await post(collector, '/v1/track', track())
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([503, true])
    await expect.poll(readiness).toMatchObject({
      code: 503,
      status: 'not_ready',
      parts: [
        { ...part, isReady: false, reason: expect.stringContaining('the database cannot be reached (') },
      ],
    })
    expect((await fetch(`${collector.url}/healthz`)).status).toBe(200)
    // The web page shows this message, so it names the unavailable part and the address that has the reason.
    const asked = await fetch(`${collector.url}/api/overview`)
    expect([asked.status, await asked.json()]).toEqual([
      503,
      expect.objectContaining({ code: 'storage', message: 'the store is unavailable: /readyz says why' }),
    ])
    expect(seriesOf(await metrics(), 'ready', { part: 'store' })).toBe(0)
    await expect.poll(storeUnavailable).toContain('the database cannot be reached (')
    expect(told).toContain('the store is unavailable')
    expect(told).not.toContain('the store is back')
    await server.restart()
    // A process that is not ready gets no events, so it has to notice the recovery without an event.
    await expect.poll(readiness).toMatchObject({ code: 200 })
    await expect.poll(storeUnavailable).toBeNull()
    expect(told.filter((what) => what.startsWith('the store'))).toEqual([
      'the store is unavailable',
      'the store is back',
    ])
    expect((await post(collector, '/v1/track', track())).status).toBe(200)
    const after = await metrics()
    expect(seriesOf(after, 'ready', { part: 'store' })).toBe(1)
    expect(seriesOf(after, 'events_total', { status: 'accepted' })).toBe(2)
  })
})
