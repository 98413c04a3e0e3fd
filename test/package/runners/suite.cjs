// The tests that run in every test runner. The runner passes its `test` function and its fake timers.
const assert = require('node:assert/strict')
const { Analytics, DeliveryError } = require('trackpost')
const { createTestClient } = require('trackpost/testing')

const order = (total) => ({ userId: 'ada', event: 'Order Completed', properties: { total } })

/**
 * @param {(name: string, run: () => Promise<void>) => void} test
 * @param {Record<string, { install(): void, uninstall(): void, count(): number }>} timers
 */
module.exports = function suite(test, timers) {
  for (const [label, { install, uninstall, count }] of Object.entries(timers)) {
    const withTimers = (name, run) =>
      test(`with ${label}: ${name}`, async () => {
        install()
        try {
          await run()
          assert.equal(count(), 0)
        } finally {
          uninstall()
        }
      })

    withTimers('a message is in the list as soon as the call returns', async () => {
      const { analytics, messages } = createTestClient()
      analytics.track(order(42.5))
      assert.equal(messages.length, 1)
      assert.equal(messages[0].properties.total, 42.5)
      assert.ok(analytics instanceof Analytics)
      await analytics.flush()
    })

    withTimers('an outage, a rate limit and a refusal end at once', async () => {
      const { analytics, failNext } = createTestClient()
      const outcomes = []
      failNext({ status: 503, times: 2 })
      failNext({ status: 429, retryAfter: 5 })
      analytics.track(order(1), (error) => outcomes.push(error?.code))
      await analytics.flush({ timeout: 3_600_000 })
      failNext({ status: 400 })
      analytics.track(order(2), (error) => {
        assert.ok(error instanceof DeliveryError)
        outcomes.push(error.code)
      })
      await analytics.closeAndFlush()
      assert.deepEqual(outcomes, [undefined, 'rejected'])
    })

    withTimers('asynchronous plugins, and those that drop events', async () => {
      const { analytics, messages } = createTestClient()
      await analytics.register({
        name: 'p',
        type: 'before',
        track: async (ctx) => (ctx.event.properties.total > 1 ? ctx : null),
      })
      analytics.track(order(1), () => {})
      analytics.track(order(2))
      const summary = await analytics.flush()
      assert.deepEqual(summary, { delivered: 1, failed: 1, pending: 0 })
      assert.equal(messages.length, 1)
      await analytics.deregister('p')
    })

    withTimers('a plugin under test', async () => {
      const plugin = { name: 'p', type: 'before', track: (ctx) => ctx.cancel('no consent') }
      const { analytics, failures } = createTestClient()
      await analytics.register(plugin)
      analytics.track(order(1))
      await analytics.flush()
      assert.match(failures[0].error.message, /no consent/)
    })

    withTimers('a later message is awaited', async () => {
      const { analytics, waitFor } = createTestClient()
      const waiting = waitFor({ event: 'Order Completed' }, { timeout: 3_600_000 })
      analytics.track(order(7))
      assert.equal((await waiting).properties.total, 7)
    })

    withTimers('a client that is neither flushed nor closed leaves no timer or handle', async () => {
      const { analytics, failNext } = createTestClient({ flushAt: 1_000 })
      failNext({ status: 429, retryAfter: 5, times: 3 })
      await new Promise((resolve) => analytics.track(order(1), resolve))
    })
  }
}
