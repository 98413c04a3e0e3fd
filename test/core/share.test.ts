/** Clients of one `perRequest`, and what is handed to `waitUntil`: docs/spec.md, section 8.3. The second client tracks x, y and z. */
import { expect, test } from 'vitest'
import type { Context } from '../../src/pipeline/context.ts'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'
import { silence } from '../support/scripted-client.ts'
import { checkPerRequest, play, type Row } from './script.ts'

test.each<Row>([
  [
    'who begins to wait late in an outage of another client is told after one more failure',
    'a, a 200, b, b 503, +500, b 503, +1000, b 503, +2000, b 503, X, +3999, +1, X 503',
    '0 a, 0 b, 500 b, 1500 b, 3500 b, 7500 X',
    '7500 X retries_exhausted',
  ],
  [
    'as long as nothing was accepted, a refusal means that the settings are wrong',
    'a, a 503, +500, X, X 403',
    '0 a, 500 a, 500 X',
    '500 X auth',
  ],
  [
    'once another client was accepted, a refusal does not',
    'a, a 200, b, b 503, X, +500, X 403',
    '0 a, 0 b, 500 b, 500 X',
  ],
  [
    'no client sends anything before the wait is over that another was asked for',
    'a, a 200, b, b 429 5, x, +4999, +1',
    '0 a, 0 b, 5000 b, 5000 x',
  ],
  [
    'the gate that another client shuts again has another probe',
    'a, a 200, b, b 503, x, +500, b 503, y, +1000',
    '0 a, 0 b, 500 b, 500 x, 1500 b, 1500 y',
  ],
  [
    'who waits in the outage of another client is told when its own request comes back',
    'a, a 200, b, X, b 503, +500, b 503, +1000, b 503, +2000, b 503, X 429 60',
    '0 a, 0 b, 0 X, 500 b, 1500 b, 3500 b',
    '3500 X retries_exhausted',
  ],
  [
    'who waits in the rate limit of another client is told after 10 s',
    'a, a 200, B, B 429 60, +1000, X, +10000',
    '0 a, 0 B',
    '10000 B retries_exhausted, 11000 X retries_exhausted',
  ],
  [
    'what is in flight waits for the end of an outage since another client has failed',
    'a, a 200, b, X, b 503 60, y, +1000, X 503, +3999, +1',
    '0 a, 0 b, 0 X',
    '5000 X deadline',
    { maxTotalBackoffDuration: 5 },
  ],
  [
    'what is in flight waits for the end of a rate limit since another client was limited',
    'a, a 200, b, X, b 429 60, y, +1000, X 429 60, +3999, +1',
    '0 a, 0 b, 0 X',
    '5000 X deadline',
    { maxRateLimitDuration: 5 },
  ],
  [
    'an outage that another client has found is no rate limit',
    'a, a 200, b, b 503, y, +500, b 503, y 503, +1000, b 503, y 503, +2000, b 503, y 503, +4000, y 200',
    '0 a, 0 b, 500 b, 500 y, 1500 b, 1500 y, 3500 b, 3500 y, 7500 y',
    '',
    { maxRateLimitDuration: 5 },
  ],
  [
    'what has failed is under suspicion once another client is accepted',
    'a, a 200, xy, xy 503, b, b 200, +500, x 200, +500, y 200',
    '0 a, 0 xy, 0 x, 0 b, 1000 y',
  ],
  [
    'what has failed is under suspicion then also if its control fails',
    'a, a 200, xy, xy 503, b, b 200, x 503, +500',
    '0 a, 0 xy, 0 x, 0 b, 0 x, 500 y',
  ],
  [
    'a suspect is not sent before the outage is over that another client has found',
    'x, x 200, y, z, z 200, y 503, +300, b, b refused, +200, +300',
    '0 x, 0 y, 0 z, 300 b, 800 b, 800 y',
  ],
  [
    'a probe that fails after the gate has opened for another client does not shut it',
    'a, a 200, b, b 503, x, +500, b 200, x 503, y, c',
    '0 a, 0 b, 500 b, 500 x, 500 x, 500 y, 500 c',
  ],
  [
    'what has failed is not under suspicion while requests of another client fail as well',
    'a, a 200, xy, xy 503, b, b 503, x 503, +1000',
    '0 a, 0 xy, 0 x, 0 b, 1000 y, 1000 b',
  ],
  [
    'an outage that has ended for another client has ended',
    'a, a 200, b, X, b 503, y, +500, b 200, +6000, X 503',
    '0 a, 0 b, 0 X, 500 b, 500 y, 6500 X',
    '',
    { maxTotalBackoffDuration: 5 },
  ],
  [
    'after another client was accepted, who waits is told after as many failures as before',
    'a, a 200, b, b 503, flush, x, +500, x 200, b 503, b 503, +500, b 503, +1000, b 503, +2000, b 503',
    '0 a, 0 b, 500 b, 500 x, 500 b, 1000 b, 2000 b, 4000 b',
    '4000 flush 0/1/0',
  ],
  [
    'what a client has been accepted itself counts on when it hears of another one',
    'a, a 200, b, c, c 200, xy, xy 413, b 503, d',
    '0 a, 0 b, 0 c, 0 xy, 0 x, 0 d',
  ],
  [
    'after 25 s, what was handed over fails, and what was tracked later goes on',
    'a, a 200, BC, BC 503, +20000, D, +4999, +1, D 200',
    '0 a, 0 BC, 0 B, 25000 D',
    '25000 C shutdown_timeout, 25000 B shutdown_timeout, 25000 D delivered',
  ],
  [
    'after 25 s, the halves of a refused batch fail, too',
    'a, a 200, BCDE, BCDE 400, +24999, +1',
    '0 a, 0 BCDE, 0 BC',
    '25000 D shutdown_timeout, 25000 E shutdown_timeout, 25000 B shutdown_timeout, 25000 C shutdown_timeout',
    { maxConcurrentRequests: 1 },
  ],
  [
    'after 25 s, a held batch that also has a later event goes on with that',
    'a, B, +10000, D, +1000, a 200, BD 503, +500, +13499, +1, D 200',
    '0 a, 11000 BD, 11500 B, 25000 D',
    '25000 B shutdown_timeout, 25000 D delivered',
    { maxConcurrentRequests: 1 },
  ],
  [
    'after 25 s, a request that also carries later events goes on with these',
    'a, B, +10000, C, +1000, a 200, +13999, +1, BC 503, +500, C 200',
    '0 a, 11000 BC, 25500 C',
    '25000 B shutdown_timeout, 25500 C delivered',
    { maxConcurrentRequests: 1 },
  ],
])('%s', checkPerRequest)

test('on a server, what was handed over has more time than 25 s', async () => {
  const { analytics, clock } = createAnalytics({ waitUntil: () => {} }, [silence])
  const { outcomes, callback } = recordOutcomes()
  trackPurchases(analytics, 1, callback)
  await clock.advance(25_000)

  expect(outcomes).toEqual([])
})

test.each([
  ['has failed four times', 'a, a 200, b'],
  ['limits the rate', 'a, a 200, b, b 429 60'],
])('what is inside a plugin when the service %s is not given up', async (_title, script) => {
  const { analytics, clock } = await play(script, { httpRequestTimeout: 100 }, true)
  const track = (ctx: Context): Promise<Context> =>
    new Promise((resolve) => void clock.setTimer(() => resolve(ctx), 4_500))
  void analytics.register({ name: 'slow', type: 'before', track })
  const { outcomes, callback } = recordOutcomes()
  trackPurchases(analytics, 1, callback)
  await clock.advance(24_900)

  expect(outcomes).toEqual(['retries_exhausted'])
})
