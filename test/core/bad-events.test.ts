/** Events that make their request fail, and services that fail: what docs/spec.md, section 8, promises, on virtual time. */
import { appendFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Report, type Scenario, simulate } from '../support/simulation.ts'

/** With `FIGURES=<path>`, the figures (docs/contributing/experiments.md) are appended to that file, as rows of a table. */
const FIGURES = process.env['FIGURES']

const DEFAULT_INTERVAL_MS = 10_000
const REQUEST_TIMEOUT_MS = 10_000

async function run(title: string, scenario: Scenario): Promise<Report> {
  const report = await simulate(scenario)
  const { good, bad, delivered, lost, given, requests, p99Ms, emptyMs } = report
  const seconds = (ms: number): string => (Number.isFinite(ms) ? (ms / 1_000).toFixed(1) : '')
  const cells = [
    title,
    `${delivered} of ${good}`,
    String(lost),
    `${given} of ${bad}`,
    (requests / scenario.seconds).toFixed(1),
    seconds(p99Ms),
    seconds(emptyMs),
  ]
  if (FIGURES !== undefined) appendFileSync(FIGURES, `| ${cells.join(' | ')} |\n`)
  return report
}

/** No good event is given up or sent twice; bad ones end once. The last ones wait until another event is accepted. */
function expectOnlyBadOnesLost({ good, bad, delivered, lost, given, twice, pending, codes }: Report): void {
  expect({ delivered, lost, twice }).toEqual({ delivered: good, lost: 0, twice: 0 })
  const { retries_exhausted = 0, auth = 0, rejected = 0 } = codes
  expect(retries_exhausted + auth + rejected).toBe(given)
  expect(given + pending).toBe(bad)
  expect(pending).toBeLessThanOrEqual(5)
}

const secondsOf = (rate: number): number => (rate === 1 ? 200 : rate === 20 ? 20 : 3)

describe('a bad event that makes its request fail costs no other event', () => {
  const cases = [1, 4].flatMap((concurrency) =>
    [1, 20, 200].flatMap((rate) =>
      (rate === 1 ? [20, 40] : [20, 40, 100, 400]).flatMap((one) =>
        ([500, 'reset'] as const).map((fault) => ({ concurrency, rate, one, fault })),
      ),
    ),
  )
  // A reset connection costs a second request, which counts as a second event of this share.
  const load = ({ rate, one, fault }: (typeof cases)[number]): number =>
    (rate / one) * 0.02 * (fault === 'reset' ? 2 : 1)
  const promised = cases.filter((one) => load(one) <= (one.concurrency === 1 ? 0.04 : 0.1))

  test.each(promised)(
    'F140: 1 in $one answers $fault, $rate events a second, $concurrency at once',
    async ({ concurrency, rate, one, fault }) => {
      const report = await run(`${fault} for 1 in ${one}, ${rate}/s, ${concurrency} at once`, {
        ...{ rate, bad: 1 / one, seconds: secondsOf(rate), drain: 40, concurrency, fault },
        seed: one + rate,
      })

      expectOnlyBadOnesLost(report)
      // Due after the interval at the latest, and then a few round trips.
      expect(report.p99Ms).toBeLessThanOrEqual(DEFAULT_INTERVAL_MS + 5_000 + 100)
      expect(report.requests / (secondsOf(rate) + 1)).toBeLessThanOrEqual(80)
    },
  )

  test.each([
    [403, 1],
    [403, 4],
    [404, 4],
  ] as const)(
    'F140: 1 in 100 answers %i, as firewalls do, 20 events a second, %i at once',
    async (fault, concurrency) => {
      const scenario = { rate: 20, bad: 1 / 100, seconds: 200, drain: 40, concurrency, fault, seed: 6 }
      const report = await run(`${fault} for 1 in 100, 20/s, ${concurrency} at once`, scenario)

      expect(report.bad).toBeGreaterThan(10)
      expectOnlyBadOnesLost(report)
      expect(report.p99Ms).toBeLessThanOrEqual(DEFAULT_INTERVAL_MS + 5_000 + 100)
    },
  )

  test.each([20, 40])('F140: 1 in %i, even if the load is too high for the promised times', async (one) => {
    for (const concurrency of [1, 4]) {
      const scenario = { rate: 200, bad: 1 / one, seconds: 3, drain: 200, concurrency }
      const { good, delivered, lost } = await run(
        `500 for 1 in ${one}, 200/s, ${concurrency} at once`,
        scenario,
      )

      expect({ delivered, lost }).toEqual({ delivered: good, lost: 0 })
    }
  })

  test.each([1, 4])(
    'F140: 1 in 400 that makes its request hang, one event a second, %i at once',
    async (concurrency) => {
      const scenario = { rate: 1, bad: 1 / 400, seconds: 1_200, drain: 200, fault: 'hang' as const }
      const report = await run(`hangs for 1 in 400, 1/s, ${concurrency} at once`, {
        ...scenario,
        concurrency,
        seed: 3,
      })

      expect(report.bad).toBeGreaterThan(1)
      expectOnlyBadOnesLost(report)
      // A bad one of ten hangs in up to six requests with others, and then in four alone.
      expect(report.p99Ms).toBeLessThanOrEqual(DEFAULT_INTERVAL_MS + 5_000 + 10 * REQUEST_TIMEOUT_MS)
    },
  )

  test.each([
    ['with callbacks', { awaited: 1 }],
    ['with callbacks for some', { awaited: 0.2 }],
  ])('F140: the same %s', async (_title, more) => {
    for (const concurrency of [1, 4]) {
      const report = await simulate({ rate: 20, bad: 1 / 20, seconds: 20, drain: 90, concurrency, ...more })

      expectOnlyBadOnesLost(report)
    }
  })

  test('F140: bad events that are the last ones, and awaited, do not wait for each other', async () => {
    for (const seed of [1, 2, 3, 4]) {
      const scenario = { rate: 20, bad: 1 / 20, seconds: 20, drain: 90, awaited: 1, seed }

      expect((await simulate(scenario)).pending).toBe(0)
    }
  })
})

describe('an outage in a stream with bad events', () => {
  const OUTAGE = [20, 150] as const

  test.each(
    ([503, 'refuse', 'hang', 'reset'] as const).map((outageFault) => ({
      outageFault,
      concurrency: outageFault === 'refuse' || outageFault === 'reset' ? 1 : 4,
    })),
  )(
    'F141: of $outageFault ends as it began, with $concurrency at once: nothing good is lost, and the queue is soon empty',
    async ({ concurrency, outageFault }) => {
      const seconds = outageFault === 'hang' ? 330 : 250
      const report = await run(
        `outage of 130 s (${outageFault}), 1 in 100 bad, 20/s, ${concurrency} at once`,
        {
          ...{ rate: 20, bad: 0.01, seconds, outages: [OUTAGE], outageFault, concurrency },
        },
      )

      expectOnlyBadOnesLost(report)
      expect(report.emptyMs).toBeLessThanOrEqual(90_000)
      expect(report.outageRequests).toBeLessThanOrEqual(15)
      expect(report.outageRequests).toBeGreaterThan(0)
    },
  )

  test.each([1, 4])(
    'F141: costs only what is awaited, at no more than 15 requests a minute, with %i at once',
    async (concurrency) => {
      const report = await run(`outage of 130 s, 1 in 20 awaited, 20/s, ${concurrency} at once`, {
        ...{ rate: 20, bad: 0.01, seconds: 250, outages: [OUTAGE], awaited: 0.05, concurrency },
      })

      // About as many as became due in the outage and were awaited.
      expect(report.lost).toBeGreaterThan(80)
      expect(report.lost).toBeLessThan(0.07 * 20 * 140)
      expect(report.delivered + report.lost).toBe(report.good)
      expect(report.emptyMs).toBeLessThanOrEqual(90_000)
      expect(report.outageRequests).toBeLessThanOrEqual(15)
    },
  )
})

describe('a service of which every second request fails at random', () => {
  test.each([1, 20, 200])('F140: costs at most 4 in 1,000 events, at %i a second', async (rate) => {
    let good = 0
    let lost = 0
    for (const concurrency of [1, 4]) {
      for (const seed of [1, 2]) {
        const seconds = rate === 1 ? 200 : rate === 20 ? 30 : 4
        const report = await run(`every second request fails, ${rate}/s, ${concurrency} at once`, {
          ...{ rate, bad: 0, seconds, drain: 300, brown: 0.5, concurrency, seed },
        })
        good += report.good
        lost += report.lost
        expect(report.twice).toBe(0)
      }
    }

    expect(lost).toBeLessThanOrEqual(0.004 * good)
  })
})

describe('a batch that is refused because of one event', () => {
  const TEXTS = ['same', 'named', 'random'] as const

  test.each(
    TEXTS.flatMap((text) =>
      [100, 1_000].map((one, index) => ({ text, one, concurrency: index === 0 ? 4 : 1 })),
    ),
  )(
    'F142: is halved until the bad one stands alone: a burst of 5,000, 1 in $one bad, text: $text',
    async ({ text, one, concurrency }) => {
      const { good, bad, delivered, given, twice } = await run(
        `400 for 1 in ${one} of a burst of 5,000, ${concurrency} at once`,
        { rate: 1, burst: 5_000, bad: 1 / one, seconds: 2, fault: 400, text, concurrency },
      )

      expect({ delivered, given, twice }).toEqual({ delivered: good, given: bad, twice: 0 })
    },
  )

  test.each(TEXTS)('F142: 1 in 10 of a burst of 1,000, text: %s', async (text) => {
    const { good, bad, delivered, given } = await run('422 for 1 in 10 of a burst of 1,000, 4 at once', {
      ...{ rate: 1, burst: 1_000, bad: 0.1, seconds: 2, fault: 422, text },
    })

    expect({ delivered, given }).toEqual({ delivered: good, given: bad })
  })

  test('F142: in the backlog of an outage', async () => {
    const report = await run('400 for 1 in 20 in the backlog of an outage of 60 s, 4 at once', {
      ...{ rate: 20, bad: 0.05, seconds: 200, fault: 400, outages: [[10, 70]] },
    })

    expect(report.delivered).toBe(report.good)
    expect(report.given).toBe(report.bad)
    expect(report.emptyMs).toBeLessThanOrEqual(90_000)
  })

  test.each([1, 4].flatMap((concurrency) => TEXTS.map((text) => [concurrency, text] as const)))(
    'F142: a service that refuses everything gets at most 60 requests for 1,000 events, with %i at once, text: %s',
    async (concurrency, text) => {
      const { bad, given, requests } = await run(`400 for all of a burst of 1,000, ${concurrency} at once`, {
        ...{ rate: 1, burst: 1_000, bad: 1, seconds: 1, fault: 400, concurrency, text },
      })

      expect(given).toBe(bad)
      expect(requests).toBeLessThanOrEqual(60)
    },
  )

  test.each([1, 4])(
    'F142: that refuses a whole stream, gets about as many as a service that accepts it, with %i at once',
    async (concurrency) => {
      const scenario = { rate: 100, bad: 1, seconds: 10, fault: 422 as const, concurrency }
      const { bad, given, requests } = await run(`422 for all of 100/s, ${concurrency} at once`, scenario)
      const accepting = await simulate({ ...scenario, bad: 0 })

      expect(given).toBe(bad)
      expect(requests).toBeLessThanOrEqual(accepting.requests + 60)
    },
  )
})

describe('a rate limit', () => {
  test.each(
    [0.5, 1, 2].flatMap((bucket) =>
      [20, 100].flatMap((rate) => [false, true].map((isStated) => ({ bucket, rate, isStated }))),
    ),
  )(
    'F143: of $bucket requests a second costs no event at $rate a second, stated: $isStated',
    async ({ bucket, rate, isStated }) => {
      const report = await run(
        `${bucket} requests a second allowed, ${isStated ? 'stated' : 'not stated'}, ${rate}/s`,
        { rate, bad: 0, seconds: 20, drain: 30, bucket, isStated },
      )

      const { good, delivered, lost, twice } = report
      expect({ delivered, lost, twice }).toEqual({ delivered: good, lost: 0, twice: 0 })
      // It keeps up with the service.
      expect(report.p99Ms).toBeLessThanOrEqual(DEFAULT_INTERVAL_MS + 1_000)
    },
  )
})
