import { join } from 'node:path'
import { expect } from 'vitest'
import type { Collector } from '../../../collector/src/index.ts'
import { parseMetrics, seriesOf } from '../../../collector/test/ops/prometheus.ts'
import { newDatabaseFile, newFolder } from '../../../collector/test/support/process.ts'
import { openCollector, post, track } from '../../../collector/test/support.ts'
import { natsTest, startNats } from '../support/nats.ts'

const readiness = async ({ url }: Collector) => {
  const response = await fetch(`${url}/readyz`)
  return { code: response.status, ...((await response.json()) as { parts: object[] }) }
}
const metrics = async ({ url }: Collector) => parseMetrics(await (await fetch(`${url}/metrics`)).text())

natsTest(
  'a front requires only the log, a worker also the store; both report the state of these parts, and the lag',
  async () => {
    const nats = await startNats()
    const front = await openCollector({ log: nats.url })
    const log = { part: 'log', isReady: true, isRequired: true, reason: null }
    expect(await readiness(front)).toMatchObject({ code: 200, parts: [log] })
    const send = () => post(front, '/v1/batch', { batch: [track(), track(), { type: 'track', userId: 'u' }] })
    expect((await send()).status).toBe(200)

    // No worker runs yet.
    await expect
      .poll(async () => seriesOf(await metrics(front), 'lag_messages', { part: 'log' }))
      .toBeGreaterThan(0)
    const ofFront = await metrics(front)
    expect(seriesOf(ofFront, 'logged_events_total', { reason: '' })).toBe(2)
    expect(seriesOf(ofFront, 'logged_events_total', { reason: 'no_event' })).toBe(1)
    expect(seriesOf(ofFront, 'events_total')).toBeUndefined()
    expect(seriesOf(ofFront, 'append_duration_seconds_count', { result: 'ok' })).toBe(1)

    const config = {
      destinations: [{ name: 'File', type: 'file' as const, path: join(newFolder(), 'out.ndjson') }],
    }
    const worker = await openCollector({
      log: nats.url,
      store: newDatabaseFile(),
      work: true,
      config,
    })
    const store = { ...log, part: 'store' }
    expect(await readiness(worker)).toMatchObject({ code: 200, parts: [log, store] })
    await worker.waitFor({ count: 2 })
    await expect.poll(async () => seriesOf(await metrics(worker), 'lag_messages', { part: 'log' })).toBe(0)
    const ofWorker = await metrics(worker)
    expect(seriesOf(ofWorker, 'events_total', { reason: '' })).toBe(2)
    expect(seriesOf(ofWorker, 'dead_letters', { part: 'log' })).toBe(0)

    await nats.kill()

    for (const one of [front, worker]) {
      await expect
        .poll(() => readiness(one))
        .toMatchObject({
          code: 503,
          parts: expect.arrayContaining([
            { ...log, isReady: false, reason: expect.any(String), waiting: expect.any(Number) },
          ]),
        })
      expect((await fetch(`${one.url}/healthz`)).status).toBe(200)
      expect(seriesOf(await metrics(one), 'ready', { part: 'log' })).toBe(0)
    }
    const refused = await send()
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([503, true])
    await nats.start()
    await expect.poll(() => readiness(front)).toMatchObject({ code: 200 })
  },
)
