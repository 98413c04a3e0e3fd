import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Analytics } from 'trackpost'

function createClient(...statuses) {
  const client = {
    requests: 0,
    async makeRequest() {
      client.requests++
      const status = statuses.shift() ?? 200
      return { status, statusText: '', headers: status === 200 ? {} : { 'Retry-After': '2' } }
    },
  }
  return client
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Advances the mocked time by `ms` in steps, with a turn of the event loop after each step. */
async function tick(timers, ms, step = 500) {
  for (let passed = 0; passed < ms; passed += step) {
    timers.tick(step)
    await turn()
  }
}

for (const apis of [['setTimeout'], ['setTimeout', 'Date']]) {
  test(`retries go on with mocked ${apis.join(' and ')}`, async ({ mock: { timers } }) => {
    timers.enable({ apis })
    const httpClient = createClient(503, 429, 503)
    const analytics = new Analytics({ writeKey: 'a-write-key', httpClient, flushAt: 1 })
    let outcome = 'none'
    analytics.track({ userId: 'ada', event: 'Order Completed' }, (error) => {
      outcome = error?.code ?? 'delivered'
    })
    await turn()
    assert.equal(httpClient.requests, 1)

    await tick(timers, 30_000)

    assert.equal(outcome, 'delivered')
    assert.equal(httpClient.requests, 4)
  })

  test(`with mocked ${apis.join(' and ')}, new events do not prolong a wait`, async ({
    mock: { timers },
  }) => {
    timers.enable({ apis })
    const httpClient = createClient(503)
    const analytics = new Analytics({ writeKey: 'a-write-key', httpClient, flushAt: 1 })
    analytics.track({ userId: 'ada', event: 'First' })
    await turn()

    // Each step is shorter than the wait of 2 s that the Retry-After header asks for.
    for (let step = 0; step < 5; step++) {
      analytics.track({ userId: 'ada', event: `Event ${step}` })
      void analytics.flush()
      await tick(timers, 500)
    }

    assert.ok(httpClient.requests > 1)
    assert.equal(analytics.stats.pending, 0)
  })

  test(`with mocked ${apis.join(' and ')}, a deadline fires at its time`, async ({ mock: { timers } }) => {
    timers.enable({ apis })
    const httpClient = createClient(...Array(100).fill(429))
    const settings = { writeKey: 'a-write-key', httpClient, flushAt: 1, maxRateLimitDuration: 10 }
    const analytics = new Analytics(settings)
    analytics.track({ userId: 'ada', event: 'First' })
    await turn()

    await tick(timers, 13_000)

    assert.equal(analytics.stats.failures.deadline, 1)
    assert.ok(httpClient.requests >= 5)
  })
}
