import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SettingsError } from '../../src/errors/errors.ts'
import type { Spool } from '../../src/line/spool.ts'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'
import { connect } from '../../src/spool/connection.ts'
import type { FileSpool } from '../../src/spool/file-spool.ts'
import { createHeader, writeRecord } from '../../src/spool/format.ts'
import { segmentName } from '../../src/spool/segment.ts'
import {
  createAnalytics,
  type Harness,
  recordOutcomes,
  trackPurchases,
  WRITE_KEY,
} from '../support/create-analytics.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { THROWING } from '../support/odd-values.ts'
import { type Reply, silence, status } from '../support/scripted-client.ts'
import { createProcess, FileSpoolOn, filesIn, temporaryDirectory, turn, until } from './support.ts'

interface Life extends Harness {
  readonly spool: FileSpool
  /** Ends the simulated process like SIGKILL: no code of the process runs any more. */
  kill(): void
}

/** Starts simulated processes that share one spool directory, one after the other or at the same time. */
function createHost(directory = temporaryDirectory()) {
  const alive = new Set<number>()
  return {
    directory,
    start(settings: Partial<AnalyticsSettings> = {}, replies: readonly Reply[] = []): Life {
      const clock = new FakeClock()
      const processes = createProcess(alive)
      const spool = new FileSpoolOn({ directory, sync: 'never' }, { clock, processes })
      const harness = createAnalytics({ spool, ...settings }, replies, clock)
      return { ...harness, spool, kill: () => processes.end() }
    },
  }
}

const unavailable = status(503)

/** The messages of so many events. */
async function messagesOf(count: number): Promise<object[]> {
  const { analytics, client } = createAnalytics()
  trackPurchases(analytics, count)
  await analytics.closeAndFlush()
  return client.requests.flatMap(({ batch }) => batch)
}

function countDescriptors(): number {
  return existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0
}

describe('after the death of a process', () => {
  test('the next process delivers the unchanged events, and counts them', async () => {
    const host = createHost()
    const first = host.start({}, [unavailable])
    trackPurchases(first.analytics, 20)
    await turn()
    const sent = first.client.requests.flatMap(({ batch }) => batch)
    first.kill()

    const second = host.start()
    await until(() => second.analytics.stats.recovered === 20)
    await second.analytics.closeAndFlush()

    expect(second.client.requests.flatMap(({ batch }) => batch)).toEqual(sent)
    expect(second.analytics.stats).toMatchObject({ accepted: 20, delivered: 20, recovered: 20, pending: 0 })
    expect(filesIn(host.directory).filter((name) => name.endsWith('.seg'))).toEqual([])
  })

  test('2,000 files with one event each are sent in a few requests (F149)', async () => {
    const host = createHost()
    const folder = join(host.directory, `${'f'.repeat(16)}.0`)
    mkdirSync(folder, { recursive: true })
    const batch = await messagesOf(2_000)
    for (const [index, message] of batch.entries()) {
      const record = Buffer.alloc(4_096)
      const end = writeRecord(record, 0, Buffer.from(JSON.stringify(message)))
      const bytes = Buffer.concat([createHeader(), record.subarray(0, end)])
      writeFileSync(join(folder, segmentName(index + 1)), bytes)
    }
    const { analytics, client } = host.start({ flushAt: 500, maxEventsInBatch: 500 })
    await until(() => analytics.stats.delivered === 2_000)
    await analytics.closeAndFlush()

    expect(client.requests.flatMap((request) => request.batch)).toEqual(batch)
    expect(client.requests.length).toBeLessThanOrEqual(8)
    expect(filesIn(host.directory)).toEqual([])
  })

  test('delivered events are not sent again', async () => {
    const host = createHost()
    const first = host.start({ flushAt: 5 })
    trackPurchases(first.analytics, 5)
    await until(() => first.analytics.stats.delivered === 5)
    trackPurchases(first.analytics, 2)
    await turn()
    first.kill()

    const second = host.start()
    await until(() => second.analytics.stats.delivered === 2)
    await second.analytics.closeAndFlush()

    expect(second.analytics.stats).toMatchObject({ accepted: 2, delivered: 2, recovered: 2 })
  })

  test('S32, S33, S35, F99: the next process sends the events with its own credentials, and the files contain no secret', async () => {
    const host = createHost()
    const first = host.start({}, [unavailable])
    trackPurchases(first.analytics, 3)
    await turn()
    first.kill()

    for (const name of filesIn(host.directory)) {
      const text = readFileSync(join(host.directory, name), 'latin1')
      expect(text).not.toContain(WRITE_KEY)
      expect(text).not.toContain(Buffer.from(`${WRITE_KEY}:`).toString('base64'))
    }
    const second = host.start({ writeKey: 'wk_of_the_day' })
    await until(() => second.analytics.stats.recovered === 3)
    await second.analytics.closeAndFlush()

    expect(second.client.requests[0]?.body).toContain('wk_of_the_day')
  })
})

test('a spool of the program that throws anything costs no event its outcome', async () => {
  const spool: Spool = {
    attach: (client) => connect(spool, client),
    append: () => ({ isKept: true }),
    sync: async () => true,
    acknowledge: () => {
      throw THROWING
    },
    async *recover() {},
    close: () => Promise.reject(THROWING),
  }
  const { analytics } = createAnalytics({ spool, flushAt: 3 })
  const { outcomes, callback } = recordOutcomes()
  trackPurchases(analytics, 3, callback)
  await analytics.closeAndFlush()

  expect(outcomes).toEqual(['delivered', 'delivered', 'delivered'])
})

describe('a client whose constructor throws', () => {
  const bad: [string, Partial<AnalyticsSettings>][] = [
    ['a bad write key', { writeKey: '' }],
    [
      'a clientKey that cannot be read',
      { oauthSettings: { clientId: 'c', keyId: 'k', clientKey: 'no key' } },
    ],
  ]
  test.each(bad)('leaves no file, lock or timer of its spool: %s', async (_, settings) => {
    const directory = temporaryDirectory()
    const clock = new FakeClock()
    const spool = new FileSpoolOn({ directory }, { clock })
    const descriptors = countDescriptors()

    expect(() => createAnalytics({ spool, ...settings }, [], clock)).toThrow(SettingsError)

    expect([readdirSync(directory), clock.timerCount]).toEqual([[], 0])
    expect(countDescriptors()).toBeLessThanOrEqual(descriptors)
    // The same spool can still be used by a client with good settings.
    const { analytics } = createAnalytics({ spool }, [], clock)
    trackPurchases(analytics, 1)
    expect(await analytics.closeAndFlush()).toMatchObject({ delivered: 1 })
  })
})

describe('an outage', () => {
  test('makes events in memory fail after maxTotalBackoffDuration, and later also events that were only in files', async () => {
    const { analytics, client, clock } = createHost().start(
      { flushAt: 1, maxQueueSize: 4, maxConcurrentRequests: 1, maxTotalBackoffDuration: 60 },
      [unavailable],
    )
    const outcomes: string[] = []
    analytics.on('error', ({ reason }) => outcomes.push(reason.code))

    trackPurchases(analytics, 6)
    await clock.advance(61_000)

    const sent = client.requests.flatMap(({ batch }) => batch.map(({ messageId }) => messageId))
    expect(outcomes).toEqual(new Array(4).fill('deadline'))
    expect(new Set(sent).size).toBeLessThanOrEqual(4)
    expect(analytics.stats.pending).toBe(2)
    await until(() => analytics.status.queued > 0)
    await clock.advance(50_000)
    expect(outcomes.length).toBe(4)
    await clock.advance(200_000)
    expect(outcomes).toEqual(new Array(6).fill('deadline'))
    await analytics.closeAndFlush()
  })

  test('events beyond maxQueueBytes are kept only on the disk, and all events are delivered in order', async () => {
    const { analytics, client, clock, spool } = createHost().start(
      { maxQueueBytes: 33_000, maxQueueSize: 10, flushAt: 5, maxConcurrentRequests: 1 },
      [unavailable, status(200)],
    )
    const { outcomes, callback } = recordOutcomes()

    trackPurchases(analytics, 500)
    trackPurchases(analytics, 500, callback)
    await turn()
    expect(analytics.status.queued).toBe(1_000 - 10 * analytics.status.inFlight)
    expect(analytics.stats).toMatchObject({ accepted: 1_000, failed: 0, pending: 1_000 })
    expect(spool.stats.bytes).toBeGreaterThan(200_000)
    const flushed = analytics.flush()
    await clock.advance(2_000)
    await until(() => analytics.stats.pending === 0)

    expect(await flushed).toEqual({ delivered: 1_000, failed: 0, pending: 0 })
    const numbers = client.requests
      .slice(1)
      .flatMap(({ batch }) => batch.map(({ properties }) => (properties as { number: number }).number))
    const each = Array.from({ length: 500 }, (_, index) => index + 1)
    expect(numbers).toEqual([...each, ...each])
    expect(outcomes).toEqual(each.map(() => 'delivered'))
    await analytics.closeAndFlush()
  })
})

test('an event inside an asynchronous plugin fails with queue_full when events in flight fill the memory', async () => {
  const { analytics, spool } = createHost().start({ maxQueueSize: 3 }, [silence])
  const { outcomes, callback } = recordOutcomes()
  await analytics.register({
    name: 'gardien',
    type: 'before',
    track: (ctx) => (ctx.event.properties?.['number'] === 4 ? new Promise(() => {}) : ctx),
  })

  trackPurchases(analytics, 3)
  await turn()
  expect(analytics.status.inFlight).toBe(1)
  trackPurchases(analytics, 4, callback)
  await turn()

  expect(outcomes).toEqual(['queue_full'])
  expect(analytics.stats.pending).toBe(6)
  await spool.close()
})

describe('the end of the client', () => {
  test('leaves undelivered events on the disk: they count as deferred, not as failed', async () => {
    const host = createHost()
    const first = host.start({ maxQueueSize: 5, flushAt: 5, maxConcurrentRequests: 1 }, [unavailable])
    const errors: unknown[] = []
    first.analytics.on('error', (error) => errors.push(error))
    const { outcomes, callback } = recordOutcomes()
    trackPurchases(first.analytics, 12)
    trackPurchases(first.analytics, 3, callback)
    await turn()

    const closed = first.analytics.closeAndFlush({ timeout: 100 })
    await first.clock.advance(100)

    expect(await closed).toEqual({ delivered: 0, failed: 0, pending: 0, deferred: 15 })
    expect(outcomes).toEqual(['deferred', 'deferred', 'deferred'])
    expect(errors).toEqual([])
    expect(first.analytics.stats).toMatchObject({ accepted: 15, failed: 0, deferred: 15, pending: 0 })

    // The first process is still alive, but its client is closed: another process may take over the events.
    const second = host.start()
    await until(() => second.analytics.stats.recovered === 15)
    await second.analytics.closeAndFlush()
    expect(second.analytics.stats).toMatchObject({ accepted: 15, delivered: 15, recovered: 15 })
    expect(readdirSync(host.directory)).toEqual([])
  })
})

describe('stored', () => {
  test('waits until events have left their plugins, and then resolves with true', async () => {
    const { analytics, spool } = createHost().start({}, [unavailable])
    let leave: () => void = () => {}
    await analytics.register({
      name: 'slow',
      type: 'enrichment',
      track: (ctx) =>
        new Promise((resolve) => {
          leave = () => resolve(ctx)
        }),
    })
    trackPurchases(analytics, 1)
    let isStored: boolean | undefined
    const stored = analytics.stored().then((is) => {
      isStored = is
    })
    await turn()
    expect([isStored, spool.stats.bytes]).toEqual([undefined, 0])

    leave()
    await stored

    expect(isStored).toBe(true)
    expect(spool.stats.bytes).toBeGreaterThan(100)
    spool.flush()
  })

  test('returns false without a spool', async () => {
    const { analytics } = createAnalytics()
    expect(await analytics.stored()).toBe(false)
  })
})

test('only one client can use a spool', () => {
  const { spool } = createHost().start()

  expect(() => createAnalytics({ spool })).toThrow(/spool: expected a separate one/)
  expect(() => createAnalytics({ spool: {} as never })).toThrow(/spool: expected a FileSpool/)
})
