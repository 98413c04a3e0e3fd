/** Suspects, and what the service says meanwhile: nothing waits for ever, and no request goes out without a wait. */
import { describe, expect, test } from 'vitest'
import { createAnalytics, type Harness } from '../support/create-analytics.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { type Reply, status } from '../support/scripted-client.ts'

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8]

/** Answers requests with the bad event in one way, and all others in another. */
function answer(bad: Reply, good: Reply = status(200)): Reply {
  return (request) => (request.batch.some(({ event }) => event === 'Bad') ? bad : good)(request)
}

function track({ analytics, clock }: Harness, event: string): { code?: string | undefined; atMs?: number } {
  const told: { code?: string | undefined; atMs?: number } = {}
  analytics.track({ userId: 'ada', event }, (error) => {
    Object.assign(told, { code: error?.code, atMs: clock.elapsedMs })
  })
  return told
}

/** A good event is accepted, then a bad one and a good one fail together: the bad one is a suspect. */
async function withSuspect(
  reply: Reply,
  isAwaited = true,
  seed = 1,
): Promise<Harness & { bad: ReturnType<typeof track> }> {
  const harness = createAnalytics({ flushInterval: 100 }, [reply], new FakeClock(undefined, seed))
  const { analytics, clock } = harness
  analytics.on('error', () => {})
  analytics.on('warning', () => {})
  analytics.track({ userId: 'ada', event: 'Good' })
  await analytics.flush()
  analytics.track({ userId: 'ada', event: 'Good' })
  if (!isAwaited) analytics.track({ userId: 'ada', event: 'Bad' })
  const bad = isAwaited ? track(harness, 'Bad') : {}
  await clock.advance(150)
  return { ...harness, bad }
}

describe('a suspect', () => {
  test.each([401, 403, 404])(
    'is not sent again without a wait when the service says %i to it',
    async (code) => {
      const { client, clock } = await withSuspect(answer(status(503)))
      client.answerWith(answer(status(code)))
      await clock.advance(60_000)

      expect(client.requests.length).toBeLessThan(40)
    },
  )

  test('that nobody awaits ends with deadline, and a flush does not wait for it that long', async () => {
    const { analytics, clock, client } = await withSuspect(answer(status(503)), false)
    let pending: number | undefined
    void analytics.flush().then((summary) => {
      pending = summary.pending
    })
    await clock.advance(30_000)
    expect(pending).toBe(1)
    await clock.advance(13 * 3_600_000)

    expect(analytics.stats).toMatchObject({ delivered: 2, pending: 0, failures: { deadline: 1 } })
    expect(client.requests.length).toBeLessThan(1_500)
  })

  test.each(['0', '1'])('is told also when its failures ask for a wait of %s s', async (retryAfter) => {
    const harness = await withSuspect(answer(status(503, { 'Retry-After': retryAfter })))
    for (let second = 0; second < 60; second++) {
      harness.analytics.track({ userId: 'ada', event: 'Good' })
      await harness.clock.advance(1_000)
    }

    expect(harness.bad.code).toBe('retries_exhausted')
    expect(harness.analytics.stats.delivered).toBeGreaterThan(50)
  })

  test.each(SEEDS)(
    'is sent after the wait that an accepted request has asked for, with seed %i',
    async (seed) => {
      const good = status(200, { 'Retry-After': '1' })
      const { analytics, client, clock, bad } = await withSuspect(answer(status(503)), true, seed)
      await clock.advance(4_000)
      client.answerWith(answer(status(200), good))
      analytics.track({ userId: 'ada', event: 'Good' })
      await clock.advance(60_000)

      expect(bad).toMatchObject({ atMs: expect.any(Number), code: undefined })
    },
  )
})

test('after a time in which every second request fails, a bad event is still told', async () => {
  let requests = 0
  const flaky: Reply = (request) => status(++requests % 2 === 0 ? 503 : 200)(request)
  const harness = createAnalytics({ flushInterval: 100 }, [flaky])
  const { analytics, client, clock } = harness
  analytics.on('error', () => {})
  analytics.on('warning', () => {})
  const run = async (seconds: number): Promise<void> => {
    for (let count = 0; count < seconds * 20; count++) {
      analytics.track({ userId: 'ada', event: 'Good' })
      await clock.advance(50)
    }
  }
  await run(15)
  client.answerWith(answer(status(503)))
  await run(8)
  const bad = track(harness, 'Bad')
  await run(30)

  expect(bad.code).toBe('retries_exhausted')
})

test('where a third of the events is bad, each is told, and the others are delivered', async () => {
  const harness = createAnalytics({ flushInterval: 100 }, [answer(status(500))])
  const { analytics, clock } = harness
  const bad: ReturnType<typeof track>[] = []
  for (let count = 0; count < 300; count++) {
    if (count % 3 === 2) bad.push(track(harness, 'Bad'))
    else analytics.track({ userId: 'ada', event: 'Good' })
    await clock.advance(50)
  }
  // Eight failures alone, and the backoff between.
  for (let second = 0; second < 130; second++) {
    analytics.track({ userId: 'ada', event: 'Good' })
    await clock.advance(1_000)
  }

  expect(bad).toEqual(new Array(100).fill({ code: 'retries_exhausted', atMs: expect.any(Number) }))
  expect(analytics.stats).toMatchObject({ delivered: 330, pending: 0 })
})
