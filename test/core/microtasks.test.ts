import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import { expect, test } from 'vitest'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'
import { createAnalytics } from '../support/create-analytics.ts'
import { status } from '../support/scripted-client.ts'

setFlagsFromString('--allow-natives-syntax')
const runMicrotasks = runInThisContext('() => %PerformMicrotaskCheckpoint()') as () => void
let drained = 0

/** Runs all microtasks in the midst of the synchronous code that calls it, as some runtimes do. Inside a microtask it does nothing. */
function drain(): undefined {
  queueMicrotask(() => {
    hasRun = true
  })
  let hasRun = false
  runMicrotasks()
  if (hasRun) drained++
}

interface Place {
  readonly settings?: Partial<AnalyticsSettings>
  readonly properties?: object
}

/** What is called inside a call. Plugins, listeners and the logger are called inside a microtask, where V8 runs no others. */
const places: Record<string, Place> = {
  'a getter': {
    properties: {
      get price() {
        return drain() ?? 12.5
      },
    },
  },
  'a toJSON': { properties: { price: { toJSON: () => drain() ?? 'CHF 12.50' } } },
  'the function disable': { settings: { disable: () => drain() ?? false } },
  'the function scope': { settings: { scope: () => drain() ?? { userId: 'ada' } } },
  waitUntil: { settings: { waitUntil: drain } },
}

/** Runs this as a program does: outside the microtasks of the test. */
function outside(run: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      try {
        resolve(run())
      } catch (error) {
        reject(error)
      }
    })
  })
}

test.each(Object.entries(places))(
  'F147: microtasks run inside %s, and each event has one outcome',
  async (_, place) => {
    const { analytics, clock } = createAnalytics(
      { flushAt: 2, maxQueueSize: 5, maxConcurrentRequests: 1, ...place.settings },
      [status(200), status(503), status(400), status(200)],
    )
    drained = 0
    const outcomes: string[] = []
    for (let turn = 1; turn <= 10; turn++) {
      const calls = turn % 8
      await outside(() => {
        for (let call = 0; call < calls; call++) {
          const params = {
            userId: 'ada',
            event: call === 4 ? '' : 'Ordered',
            properties: place.properties ?? {},
          }
          analytics.track(params, (error) => outcomes.push(error?.code ?? 'delivered'))
        }
      })
      await clock.advance(60_000)

      const { accepted, delivered, failed, pending } = analytics.stats
      expect(outcomes).toHaveLength(accepted)
      expect(delivered).toBe(outcomes.filter((outcome) => outcome === 'delivered').length)
      expect([delivered + failed, pending]).toEqual([accepted, 0])
    }
    expect(outcomes).toHaveLength(31)
    expect(drained).toBeGreaterThan(0)
  },
)
