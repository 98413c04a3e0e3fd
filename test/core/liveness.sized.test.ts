/** Nothing is stuck: whatever the service did, a good event is out soon after it is up again. docs/spec.md, section 8. */
import { expect, test } from 'vitest'
import { TIER } from '../../scripts/tiers.mjs'
import { createAnalytics } from '../support/create-analytics.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { hangUntilAborted, networkError, type Reply, status } from '../support/scripted-client.ts'

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? (TIER === 'default' ? 100 : 1_000))
const UP_MS = 600_000

const WEATHER: readonly Reply[] = [
  ...[500, 503, 401, 404, 302, 400, 413, 429].map((code) => status(code)),
  status(503, { 'Retry-After': '7' }),
  status(429, { 'Retry-After': '3' }),
  networkError('ECONNRESET'),
  networkError('ECONNREFUSED'),
  hangUntilAborted,
]

/** A random program under random weather, then a service that is up. Returns what is still tried ten minutes later. */
async function run(seed: number): Promise<readonly string[]> {
  const clock = new FakeClock(undefined, seed)
  const pick = <T>(choices: readonly T[]): T => choices[Math.floor(clock.random() * choices.length)] as T
  const badShare = pick([0, 0.05, 0.2])
  const badReply = pick([status(400), status(422), status(413), status(500), networkError('ECONNRESET')])
  const isBad = (id: string): boolean =>
    ((Number(id) * 2_654_435_761) >>> 0) / 4_294_967_296 < badShare && badShare > 0
  const up: Reply = (request) => (request.messageIds.some(isBad) ? badReply : status(200))(request)
  let weather = up
  const { analytics, client } = createAnalytics(
    {
      flushAt: pick([1, 3, 15]),
      flushInterval: pick([0, 10, 1_000, 10_000]),
      maxConcurrentRequests: pick([1, 2, 4]),
      maxRetries: pick([undefined, undefined, 1, 3, 10]),
    },
    [(request) => weather(request)],
    clock,
  )
  analytics.on('error', () => {})
  analytics.on('warning', () => {})
  let tracked = 0
  let told = 0
  let followed = 0
  const flushes: Promise<unknown>[] = []
  const track = (): void => {
    const isFollowed = clock.random() < 0.5
    if (isFollowed) followed++
    const params = { userId: 'ada', event: 'Ordered', messageId: String(++tracked) }
    analytics.track(params, isFollowed ? () => void told++ : undefined)
  }
  for (let step = 0; step < 25; step++) {
    const dice = clock.random()
    if (dice < 0.5) for (let left = pick([1, 4, 12]); left > 0; left--) track()
    else if (dice < 0.6) flushes.push(analytics.flush())
    else if (dice < 0.75) weather = pick([up, up, ...WEATHER])
    else await clock.advance(pick([1, 50, 500, 3_000, 12_000, 60_000]))
  }
  weather = up
  await clock.advance(UP_MS)
  const upMs = clock.elapsedMs
  await clock.advance(UP_MS)
  const late = client.requests.filter(({ atMs }) => atMs > upMs).flatMap(({ messageIds }) => messageIds)
  const isOver = analytics.closeAndFlush({ timeout: 1_000 })
  await clock.advance(2_000)
  await Promise.all([isOver, ...flushes])
  expect([told, analytics.stats.pending, clock.timerCount]).toEqual([followed, 0, 0])
  return late.filter((id) => !isBad(id))
}

test(`after ${RUNS} random programs, no good event is still tried ten minutes after the service is up`, async () => {
  for (let seed = 1; seed <= RUNS; seed++) expect([seed, await run(seed)]).toEqual([seed, []])
})
