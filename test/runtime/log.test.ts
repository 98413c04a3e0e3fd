import { describe, expect, test } from 'vitest'
import { Log, type Logger } from '../../src/runtime/log.ts'
import { createAnalytics, trackPurchases, WRITE_KEY } from '../support/create-analytics.ts'
import { settled } from '../support/fake-clock.ts'
import { catchProcessWarnings } from '../support/process-warnings.ts'
import { status } from '../support/scripted-client.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()

type Line = [level: string, fields: Record<string, unknown>, message: string]

function record(): { lines: Line[]; logger: Logger; at: (level: string) => Line[] } {
  const lines: Line[] = []
  const take = (level: string) => (fields: object, message: string) => {
    lines.push([level, { ...fields }, message])
  }
  return {
    lines,
    logger: { debug: take('debug'), info: take('info'), warn: take('warn'), error: take('error') },
    at: (level) => lines.filter(([one]) => one === level),
  }
}

const warned = catchProcessWarnings()

describe('the setting logger', () => {
  test('gets requests, responses, pauses and the first loss for each reason, instead of process warnings', async () => {
    const { logger, at } = record()
    const { analytics, clock } = createAnalytics({ logger, maxRetries: 1 }, [status(503)])

    trackPurchases(analytics, 2)
    void analytics.flush()
    await clock.advance(60_000)

    expect(
      at('debug').map(([, { attempt, events, status }, message]) => [message, attempt, events, status]),
    ).toEqual([
      ['trackpost: request', 1, 2, undefined],
      ['trackpost: response', 1, 2, 503],
      // The probe carries one event.
      ['trackpost: request', 2, 1, undefined],
      ['trackpost: response', 2, 1, 503],
    ])
    expect(at('info')[0]).toMatchObject([
      'info',
      { waitMs: expect.any(Number) },
      expect.stringMatching(/^trackpost: no request is sent for \d+ ms$/),
    ])
    expect(at('error')).toMatchObject([
      ['error', { code: 'retries_exhausted' }, expect.stringContaining('[503] Service Unavailable')],
    ])
    expect(warned).toEqual([])
  })

  test('gets unknown names of settings, and failures of plugins, listeners and callbacks', async () => {
    const { logger, at } = record()
    const { analytics } = createAnalytics({ logger, flushIntervall: 5 } as object)
    analytics.on('track', () => {
      throw new Error('in a listener')
    })
    await analytics.register({
      name: 'cassé',
      type: 'enrichment',
      track() {
        throw new Error('in a plugin')
      },
    })

    trackPurchases(analytics, 2, () => Promise.reject(new Error('in a callback')))
    await analytics.flush()
    await new Promise((resolve) => setImmediate(resolve))

    expect(at('warn').map(([, { code }, message]) => `${code}: ${message}`)).toEqual([
      expect.stringMatching(
        /^unknown_setting: trackpost: unknown settings: flushIntervall; the settings are /,
      ),
      expect.stringMatching(/^plugin: trackpost: .*'cassé'.*in a plugin/),
      expect.stringMatching(
        /^user_code: trackpost: listener: it failed, and was ignored, as further ones will be: in a listener \(at .*:\d+:\d+\)$/,
      ),
      expect.stringMatching(
        /^user_code: trackpost: callback: it failed, and was ignored, as further ones will be: in a callback \(at /,
      ),
    ])
    expect(warned).toEqual([])
  })

  test('gets no credentials at any level, even if errors and responses quote them', async () => {
    const { logger, lines } = record()
    const secrets = [WRITE_KEY, btoa(`${WRITE_KEY}:`), 'gateway-secret-1']
    const quoted = secrets.join(' and ')
    const { analytics, clock } = createAnalytics(
      { logger, maxRetries: 0, headers: { 'X-Api-Key': 'gateway-secret-1' } },
      [
        () => ({ status: 402, statusText: quoted, text: async () => quoted }),
        () => Promise.reject(new Error(quoted)),
      ],
    )
    await analytics.register({
      name: 'leaky',
      type: 'enrichment',
      track() {
        throw new Error(quoted)
      },
    })

    for (let n = 0; n < 2; n++) {
      trackPurchases(analytics, 1)
      void analytics.flush()
      await clock.advance(1_000)
    }

    const text = JSON.stringify(lines)
    expect(new Set(lines.map(([level]) => level))).toEqual(new Set(['debug', 'info', 'warn', 'error']))
    expect(text).toContain('[redacted] and [redacted] and [redacted]')
    for (const secret of secrets) expect(text).not.toContain(secret)
  })

  test.each([
    [
      'throws',
      () => () => {
        throw new Error('disk full')
      },
    ],
    ['rejects', () => () => Promise.reject(new Error('disk full'))],
    [
      'returns an object that throws',
      () => () =>
        Object.defineProperty({}, 'then', {
          get: () => {
            throw new Error('disk full')
          },
        }),
    ],
  ] as const)(
    'F109: may be one that %s: losses become process warnings, and its failure is reported once',
    async (_, create) => {
      const method = create()
      const logger = { debug: method, info: method, warn: method, error: method } as Logger
      const { analytics, clock } = createAnalytics({ logger, maxRetries: 0 }, [status(503), status(200)])

      trackPurchases(analytics, 1)
      void analytics.flush()
      await clock.advance(60_000)
      trackPurchases(analytics, 1)
      void analytics.flush()
      await clock.advance(60_000)

      expect(analytics.stats).toMatchObject({ delivered: 1, failed: 1, pending: 0 })
      expect(warned.filter((text) => text.includes('was not delivered: [503]'))).toHaveLength(1)
      expect(warned.filter((text) => text.includes('the logger failed'))).toHaveLength(1)
      expect(warned.join()).not.toContain('disk full')
    },
  )

  test('may be one that tracks events, which causes no endless loop', async () => {
    let lines = 0
    const track = () => {
      if (++lines < 1_000) trackPurchases(analytics, 1)
    }
    const { analytics } = createAnalytics({
      logger: { debug: track, info: track, warn: track, error: track },
      flushAt: 100,
    })

    trackPurchases(analytics, 1)
    await analytics.flush()
    await settled()

    // What is tracked while the flush waits is sent with it; after it, events wait for more of them.
    expect(lines).toBeLessThan(50)
    expect(analytics.stats.pending).toBeGreaterThan(0)
  })

  test('S26: gets no control characters, which could forge a line', () => {
    const { logger, lines } = record()

    new Log(logger, (text) => text).warn('plugin', 'a\nb\u001b[31m')

    expect(lines[0]?.[2]).toBe('trackpost: a\\u000ab\\u001b[31m')
  })

  test.each([
    [null, 'null'],
    ['debug', 'a string'],
    [{}, 'an object'],
    [{ debug() {}, info() {}, warn() {} }, 'an object'],
    [{ ...record().logger, warn: 'loud' }, 'an object'],
  ])('may not be %j', (logger, got) => {
    expect(() => createAnalytics({ logger: logger as Logger })).toThrow(
      `logger: expected an object with debug, info, warn and error, got ${got}`,
    )
  })
})
