import { appendFileSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import type { Analytics } from '../../src/analytics.ts'
import { SettingsError } from '../../src/errors/errors.ts'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'
import { FileSpool } from '../../src/spool/file-spool.ts'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { type Reply, silence, status } from '../support/scripted-client.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'
import { temporaryDirectory } from './support.ts'

failOnUnhandledRejections()
vi.spyOn(process, 'emitWarning').mockImplementation(() => {})

const unavailable = status(503)

function start(
  directory: string,
  settings: Partial<AnalyticsSettings> = {},
  replies: Reply[] = [],
  clock = new FakeClock(new Date().toISOString()),
) {
  const harness = createAnalytics({ spool: new FileSpool(directory), ...settings }, replies, clock)
  const warnings: string[] = []
  harness.analytics.on('warning', ({ code, reason }) => {
    if (code === 'spool') warnings.push((reason as Error).message)
  })
  return { ...harness, warnings }
}

/** Closes a client whose service is down, so that its events are left. */
async function leave(directory: string, track: (analytics: Analytics) => void): Promise<void> {
  const { analytics, clock } = start(directory, {}, [silence])
  track(analytics)
  const closing = analytics.closeAndFlush({ timeout: 100 })
  await clock.advance(100)
  await closing
}

function textIn(directory: string): string {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => readFileSync(join(directory, name), 'utf8'))
    .join('')
}

describe('events with a spool', () => {
  test('are in a file at the end of their turn, and no more when they are delivered', async () => {
    const directory = temporaryDirectory()
    const { analytics } = start(directory)
    trackPurchases(analytics, 3)
    expect(textIn(directory)).toBe('')
    await settled()
    expect(textIn(directory).split('\n')).toHaveLength(4)

    await analytics.flush()

    expect(textIn(directory)).toBe('')
    await analytics.closeAndFlush()
    expect(readdirSync(directory)).toEqual([])
  })

  test('that are not delivered at the end of the client are deferred, and the next one sends the same bytes', async () => {
    const directory = temporaryDirectory()
    const first = start(directory, {}, [unavailable])
    const { outcomes, callback } = recordOutcomes()
    const errors: unknown[] = []
    first.analytics.on('error', (error) => errors.push(error))
    trackPurchases(first.analytics, 12)
    first.analytics.track({ userId: 'usr_Zoë', event: 'last', messageId: 'last' }, callback)
    await settled()
    const lines = textIn(directory)

    const closing = first.analytics.closeAndFlush({ timeout: 100 })
    await first.clock.advance(100)

    expect(await closing).toEqual({ delivered: 0, failed: 0, pending: 0, deferred: 13 })
    expect(outcomes).toEqual(['deferred'])
    expect(errors).toEqual([])
    expect(first.analytics.stats).toMatchObject({ accepted: 13, failed: 0, deferred: 13, pending: 0 })
    const second = start(directory)
    await settled()
    expect(await second.analytics.closeAndFlush()).toMatchObject({ failed: 0, pending: 0 })
    expect(second.analytics.stats).toMatchObject({ accepted: 13, delivered: 13, recovered: 13 })
    const sent = second.client.requests.flatMap(({ batch }) => batch.map((one) => JSON.stringify(one)))
    expect(sent.map((line) => `${line}\n`).join('')).toBe(lines)
    expect(readdirSync(directory)).toEqual([])
  })

  test('are not sent again if somebody was told that they have failed', async () => {
    const directory = temporaryDirectory()
    const first = start(directory, { maxRetries: 0, flushAt: 1 }, [unavailable])
    const { outcomes, callback } = recordOutcomes()
    trackPurchases(first.analytics, 1, callback)
    await first.clock.advance(60_000)
    expect(outcomes).toEqual(['retries_exhausted'])
    await first.analytics.closeAndFlush()

    const second = start(directory)
    await settled()

    expect(second.analytics.stats.recovered).toBe(0)
  })

  test('of an earlier process pass no plugin again', async () => {
    const directory = temporaryDirectory()
    await leave(directory, (analytics) => trackPurchases(analytics, 1))
    const { analytics, client } = start(directory)
    await analytics.register({
      name: 'stamp',
      type: 'before',
      all: (ctx) => ctx.updateEvent('properties.stamp', true),
    })
    trackPurchases(analytics, 1)
    await analytics.flush()

    const sent = client.requests.flatMap(({ batch }) => batch as { properties?: { stamp?: boolean } }[])
    expect(sent.map(({ properties }) => properties?.stamp)).toEqual([undefined, true])
    await analytics.closeAndFlush()
  })

  test('of an earlier process take at most half of the room, and all are delivered', async () => {
    const directory = temporaryDirectory()
    await leave(directory, (analytics) => trackPurchases(analytics, 20_000))
    const replies: Reply[] = [silence]
    const { analytics, client, clock } = start(directory, { maxQueueSize: 8_000 }, replies)
    await settled()
    expect(analytics.stats.pending).toBe(1_000)
    let most = 0
    client.answerWith(async () => {
      most = Math.max(most, analytics.stats.pending)
      return { status: 200, statusText: 'OK', headers: {}, text: async () => '' }
    })
    for (let second = 0; second < 120 && analytics.stats.recovered < 20_000; second++)
      await clock.advance(1_000)
    await analytics.flush()

    expect(analytics.stats).toMatchObject({ accepted: 20_000, delivered: 20_000, recovered: 20_000 })
    // More than one file at a time.
    expect(most).toBeGreaterThan(1_000)
    expect(most).toBeLessThanOrEqual(4_000)
    await analytics.closeAndFlush()
    expect(readdirSync(directory)).toEqual([])
  })

  test('of a kind that the API does not know are left out', async () => {
    const directory = temporaryDirectory()
    await leave(directory, (analytics) => trackPurchases(analytics, 2))
    const [name = ''] = readdirSync(directory).filter((name) => name.endsWith('.jsonl'))
    appendFileSync(join(directory, name), '{"type":"visit","messageId":"of-another-program"}\n')

    const { analytics, client } = start(directory)
    await settled()
    await analytics.flush()

    expect(client.requests.flatMap(({ batch }) => batch)).toHaveLength(2)
    expect(analytics.stats).toMatchObject({ accepted: 2, delivered: 2, recovered: 2 })
    await analytics.closeAndFlush()
    expect(readdirSync(directory)).toEqual([])
  })

  test('that a client left, which closed while its process runs on, are found by another within 15 s', async () => {
    const directory = temporaryDirectory()
    const { analytics, clock } = start(directory)
    await settled()
    await leave(directory, (other) => trackPurchases(other, 5))

    await clock.advance(15_000)
    await analytics.flush()

    expect(analytics.stats).toMatchObject({ recovered: 5, delivered: 5 })
    await analytics.closeAndFlush()
  })

  test('stay where they are while disable is true', async () => {
    const directory = temporaryDirectory()
    await leave(directory, (analytics) => trackPurchases(analytics, 1))
    const before = textIn(directory)
    const { analytics } = start(directory, { disable: true })
    trackPurchases(analytics, 1)
    await analytics.closeAndFlush()

    expect(analytics.stats).toMatchObject({ delivered: 1, recovered: 0 })
    expect(textIn(directory)).toBe(before)
  })
})

describe('stored', () => {
  test('waits for the end of the turn and its plugins, and resolves to true', async () => {
    const directory = temporaryDirectory()
    const { analytics, clock } = start(directory, {}, [silence])
    let leavePlugin = (): void => {}
    await analytics.register({
      name: 'slow',
      type: 'before',
      track: (ctx) => new Promise((resolve) => (leavePlugin = () => resolve(ctx))),
    })
    trackPurchases(analytics, 1)
    let isStored: boolean | undefined
    const waiting = analytics.stored().then((given) => {
      isStored = given
    })
    await settled()
    expect([isStored, textIn(directory)]).toEqual([undefined, ''])

    leavePlugin()
    await waiting

    expect(isStored).toBe(true)
    expect(textIn(directory)).toContain('purchase-1')
    const closing = analytics.closeAndFlush({ timeout: 1 })
    await clock.advance(1)
    await closing
  })

  test('resolves to false without a spool', async () => {
    const { analytics } = createAnalytics()
    trackPurchases(analytics, 1)

    expect(await analytics.stored()).toBe(false)
  })

  test('writes again what somebody has removed, and resolves to true', async () => {
    const directory = join(temporaryDirectory(), 'events')
    const { analytics, clock, warnings } = start(directory, {}, [silence])
    trackPurchases(analytics, 3)
    expect(await analytics.stored()).toBe(true)
    rmSync(directory, { recursive: true })
    await clock.advance(1_000)

    expect([await analytics.stored(), await analytics.stored()].at(-1)).toBe(true)

    expect(textIn(directory).split('\n')).toHaveLength(4)
    expect(warnings).toEqual([expect.stringContaining('its files were removed')])
    const closing = analytics.closeAndFlush({ timeout: 1 })
    await clock.advance(1)
    expect(await closing).toMatchObject({ deferred: 3 })
  })
})

describe('a disk that cannot be written to', () => {
  test('costs one warning: events are delivered from memory, and are lost at the end of the client', async () => {
    const directory = join(temporaryDirectory(), 'events')
    const { analytics, clock, client, warnings } = start(directory, { flushAt: 6 })
    rmSync(directory, { recursive: true })
    const { writeFileSync } = await import('node:fs')
    writeFileSync(directory, '')
    trackPurchases(analytics, 5)
    expect(await analytics.stored()).toBe(false)
    await analytics.flush()
    expect(analytics.stats).toMatchObject({ delivered: 5 })

    client.answerWith(silence)
    trackPurchases(analytics, 2)
    const closing = analytics.closeAndFlush({ timeout: 100 })
    await clock.advance(100)

    expect(await closing).toEqual({ delivered: 0, failed: 2, pending: 0 })
    expect(analytics.stats.failures.shutdown_timeout).toBe(2)
    expect(warnings).toHaveLength(1)
  })

  test('at the end of the client is seen: what was removed is not said to be deferred', async () => {
    const directory = join(temporaryDirectory(), 'events')
    const { analytics, clock } = start(directory, {}, [silence])
    trackPurchases(analytics, 2)
    await settled()
    renameSync(directory, `${directory}-away`)

    const closing = analytics.closeAndFlush({ timeout: 100 })
    await clock.advance(100)

    expect(await closing).toEqual({ delivered: 0, failed: 2, pending: 0 })
  })
})

describe('the setting', () => {
  test.each<[string, unknown, RegExp]>([
    ['an empty path', '', /^spool: expected the path of a directory, got an empty string/],
    ['NUL', 'a\0b', /^spool: .* cannot be used: .*null bytes/],
    ['options', { directory: 'a' }, /^spool: expected the path of a directory, got an object/],
  ])('a FileSpool with %s is refused', (_, options, message) => {
    const make = (): unknown => new FileSpool(options as never)

    expect(make).toThrow(SettingsError)
    expect(make).toThrow(message)
  })

  test('a directory that is a file is refused, and a missing one is made', async () => {
    const home = temporaryDirectory()
    const { writeFileSync } = await import('node:fs')
    writeFileSync(join(home, 'file'), '')

    expect(() => new FileSpool(join(home, 'file'))).toThrow(/cannot be used: .*not a directory/)
    new FileSpool(join(home, 'a', 'b'))
    expect(readdirSync(join(home, 'a'))).toEqual(['b'])
  })
})

test('S32, S35: no name and no line of a file has a part of the write key', async () => {
  const directory = temporaryDirectory()
  const writeKey = 'wk-5b1e0c77d2'
  const settings = { writeKey, headers: { 'X-Api-Key': 'gateway-3f9a61' } }
  const { analytics } = start(directory, settings, [unavailable])
  trackPurchases(analytics, 2)
  await settled()

  const names = readdirSync(directory, { recursive: true }).map(String)
  const texts = names.map((name) => {
    try {
      return readFileSync(join(directory, name), 'utf8')
    } catch {
      // A folder.
      return ''
    }
  })
  expect(texts.join('')).toContain('purchase')
  expect([...names, ...texts].filter((text) => /5b1e0c|3f9a61/.test(text))).toEqual([])
})
