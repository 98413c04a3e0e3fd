/**
 * Rate limits of both header families. Waits are exact here: the client of `src` runs on a fake host, in this
 * process, with an answer for each request; what needs a real server runs against one.
 */
import { expect } from 'vitest'
import { Analytics, type AnalyticsSettings } from '../../src/index.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { CANARY_KEY, expectOracleRules, runHost, serve, size, waitsAfterRequests } from './harness/lab.ts'
import { elsewhere, row } from './harness/row.ts'

interface Reply {
  status: number
  headers?: Record<string, string>
}

type OnHost = new (settings: AnalyticsSettings, host: FakeClock) => Analytics

/** A client on a fake host whose requests are answered by `answer`, with the moments of its requests. */
function clientOn(
  host: FakeClock,
  answer: (index: number, atMs: number) => Reply,
  settings: Partial<AnalyticsSettings> = {},
): { client: Analytics; atMs: number[]; events: number[] } {
  const atMs: number[] = []
  const events: number[] = []
  const client = new (Analytics as unknown as OnHost)(
    {
      writeKey: CANARY_KEY,
      ...settings,
      httpClient: async (_url, { body }) => {
        atMs.push(host.monotonic())
        events.push(JSON.parse(body).batch.length)
        const { status, headers = {} } = answer(atMs.length - 1, host.monotonic())
        return { status, statusText: '', headers }
      },
    },
    host,
  )
  return { client, atMs, events }
}

/** Milliseconds between the first request, answered with `reply`, and the second. */
async function waitAfter(reply: Reply | ((host: FakeClock) => Reply), seed = 1): Promise<number> {
  const host = new FakeClock(undefined, seed)
  const { client, atMs } = clientOn(host, (index) =>
    index > 0 ? { status: 200 } : typeof reply === 'function' ? reply(host) : reply,
  )
  client.track({ userId: 'u', event: 'Limited' })
  const flushed = client.flush()
  for (let step = 0; step < 400 && atMs.length < 2; step++) await host.advance(1_000)
  await flushed
  expect(client.stats).toMatchObject({ accepted: 1, delivered: 1, pending: 0 })
  return (atMs[1] ?? 0) - (atMs[0] ?? 0)
}

/** One of the three legal forms of an HTTP-date. */
function httpDate(ms: number, form: 'imf' | 'rfc850' | 'asctime'): string {
  const imf = new Date(ms).toUTCString()
  const [, day = '', date = '', month = '', year = '', clock = ''] =
    /^(\w+), (\d+) (\w+) (\d+) (\S+)/.exec(imf) ?? []
  const days: Record<string, string> = {
    Sun: 'Sunday',
    Mon: 'Monday',
    Tue: 'Tuesday',
    Wed: 'Wednesday',
    Thu: 'Thursday',
    Fri: 'Friday',
    Sat: 'Saturday',
  }
  if (form === 'rfc850') return `${days[day]}, ${date}-${month}-${year.slice(2)} ${clock} GMT`
  if (form === 'asctime') return `${day} ${month} ${String(Number(date)).padStart(2)} ${clock} ${year}`
  return imf
}

row(
  'F38',
  'Retry-After: 2 on 429, 503, 408',
  'the next request at 2.0-2.3 s; on 429 no retry is spent',
  async (row) => {
    const check = async (status: number): Promise<void> => {
      const server = await serve({
        state: { status },
        script: (request, io) => {
          if (request.index > 1) return io.reply(200)
          io.count('limited')
          io.reply(Number(io.state['status']), { 'Retry-After': '2' })
        },
      })
      // One retry is enough for two 429s, and not for two 503s.
      const settings = { maxRetries: 1, httpRequestTimeout: 9_000 }
      const run = await runHost({ host: server.url, settings }, async (t) => {
        const client = t.create()
        await t.trackAll(client, 0, 10)
        await client.flush()
        await t.close(client)
      })
      const ledger = await server.report()
      const report = expectOracleRules(run, [ledger], {
        failures: status === 429 ? [] : ['retries_exhausted'],
      })
      row.injected(ledger.counts['limited'] ?? 0, 6)
      const waits = ledger.requests
        .slice(1)
        .map(({ atMs }, index) => atMs - (ledger.requests[index]?.atMs ?? 0))
      for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(1_990)
      for (const set of waitsAfterRequests(report, 9_000).slice(0, waits.length)) {
        expect(Math.max(...set)).toBeGreaterThanOrEqual(2_000)
        expect(Math.max(...set)).toBeLessThanOrEqual(2_300)
      }
      expect(report.byOutcome).toEqual(status === 429 ? { delivered: 10 } : { retries_exhausted: 10 })
      expect(ledger.requests).toHaveLength(status === 429 ? 3 : 2)
    }
    await Promise.all([429, 503, 408].map(check))
  },
)

row('F39', 'Retry-After as IMF-fixdate, RFC 850 and asctime', '3 s, all read as GMT', async (row) => {
  const zone = process.env['TZ']
  process.env['TZ'] = 'America/New_York'
  for (const form of ['imf', 'rfc850', 'asctime'] as const) {
    const waitMs = await waitAfter((host) => ({
      status: 429,
      headers: { 'retry-after': httpDate(host.now() + 3_000, form) },
    }))
    row.injected(1, 3)
    expect(Math.abs(waitMs - 3_000)).toBeLessThanOrEqual(1_000)
  }
  if (zone === undefined) delete process.env['TZ']
  else process.env['TZ'] = zone
})

row(
  'F40',
  'an HTTP-date from a server 1 h ahead or behind',
  "measured from the reply's own Date",
  async (row) => {
    for (const skewMs of [3_600_000, -3_600_000]) {
      const waitMs = await waitAfter((host) => ({
        status: 429,
        headers: {
          date: httpDate(host.now() + skewMs, 'imf'),
          'retry-after': httpDate(host.now() + skewMs + 5_000, 'imf'),
        },
      }))
      row.injected(1, 2)
      expect(Math.abs(waitMs - 5_000)).toBeLessThanOrEqual(1_000)
    }
  },
)

row(
  'F41',
  'X-RateLimit-Reset, RateLimit-Reset and RateLimit in all their forms',
  '2 s in all',
  async (row) => {
    const forms: ((host: FakeClock) => Record<string, string>)[] = [
      () => ({ 'X-RateLimit-Reset': '2' }),
      (host) => ({ 'X-RateLimit-Reset': String(Math.round(host.now() / 1_000) + 2) }),
      (host) => ({ 'X-RateLimit-Reset': String(host.now() + 2_000) }),
      () => ({ 'RateLimit-Reset': '2' }),
      () => ({ RateLimit: '"d";r=0;t=2' }),
    ]
    for (const form of forms) {
      const waitMs = await waitAfter((host) => ({ status: 429, headers: form(host) }))
      row.injected(1, forms.length)
      expect(Math.abs(waitMs - 2_000)).toBeLessThanOrEqual(300)
    }
  },
)

row(
  'F42',
  'both families, Retry-After twice, a list',
  'Retry-After wins; of several the longest',
  async (row) => {
    for (const [headers, wantedMs] of [
      [{ 'retry-after': '4', 'x-ratelimit-reset': '9' }, 4_000],
      [{ 'retry-after': '2, 7' }, 7_000],
      [{ 'retry-after': '7, 2', 'ratelimit-reset': '1' }, 7_000],
    ] as const) {
      row.injected(1, 3)
      expect(await waitAfter({ status: 429, headers })).toBeCloseTo(wantedMs, -1)
    }
  },
)

row(
  'F43',
  'malformed values',
  'never at once: the backoff or more, at least 250 ms, at most 300 s',
  async (row) => {
    const values = [
      '',
      'garbage',
      '-5',
      '0',
      '1.5',
      '1e9',
      '0x10',
      '120abc',
      'Infinity',
      '\0',
      '9'.repeat(100_000),
      'Thu, 01 Jan 1970 00:00:00 GMT',
      'Fri, 31 Dec 9999 23:59:59 GMT',
    ]
    for (const name of ['retry-after', 'x-ratelimit-reset', 'ratelimit-reset']) {
      for (const value of values) {
        const waitMs = await waitAfter({ status: 429, headers: { [name]: value } }, values.indexOf(value) + 1)
        row.injected(1, 39)
        expect(waitMs, `${name}: ${value.slice(0, 20)}`).toBeGreaterThanOrEqual(500)
        expect(waitMs, `${name}: ${value.slice(0, 20)}`).toBeLessThanOrEqual(300_000)
      }
    }
  },
)

row(
  'F44',
  'Retry-After: 9999999999',
  'clamped to 300 s; close during it ends at its time-out',
  async (row) => {
    row.injected(2)
    expect(await waitAfter({ status: 429, headers: { 'retry-after': '9999999999' } })).toBeCloseTo(
      300_000,
      -1,
    )

    const server = await serve({
      script: (_request, io) => io.reply(429, { 'retry-after': '9999999999' }),
    })
    const run = await runHost({ host: server.url, scale: 5 }, async (t) => {
      const client = t.create()
      await t.trackAll(client, 0, 20)
      await t.close(client, { timeout: 5_000 })
    })
    const report = expectOracleRules(run, [await server.report()], { failures: ['shutdown_timeout'] })
    expect(report.byOutcome).toEqual({ shutdown_timeout: 20 })
    expect(report.closes[0]?.ms).toBeGreaterThanOrEqual(4_900)
    expect(report.closes[0]?.isLate).toBe(false)
  },
)

row(
  'F46',
  '429 + 5 s while 50 batches are ready',
  'one request before, one probe on opening, then 4 in flight',
  async (row) => {
    const host = new FakeClock()
    const atMs: number[] = []
    let answers: (() => void)[] = []
    const client = new (Analytics as unknown as OnHost)(
      {
        writeKey: CANARY_KEY,
        flushAt: 1_000_000,
        httpClient: () => {
          const index = atMs.push(host.monotonic()) - 1
          if (index === 0)
            return Promise.resolve({ status: 429, statusText: '', headers: { 'retry-after': '5' } })
          return new Promise((resolve) =>
            answers.push(() => resolve({ status: 200, statusText: '', headers: {} })),
          )
        },
      },
      host,
    )
    const properties = { fill: 'x'.repeat(30_000) }
    client.track({ userId: 'u', event: 'First', properties })
    void client.flush()
    await settled()
    for (let n = 0; n < 50 * 16; n++) client.track({ userId: 'u', event: 'Later', properties })
    const flushed = client.flush()
    await host.advance(4_900)
    row.injected(1)
    expect(atMs).toHaveLength(1)

    await host.advance(200)
    expect(atMs).toHaveLength(2)
    const probe = answers
    answers = []
    for (const answer of probe) answer()
    await settled()
    await settled()
    expect(atMs).toHaveLength(2 + 4)

    while (client.stats.pending > 0) {
      for (const answer of answers.splice(0)) answer()
      await settled()
      expect(answers.length).toBeLessThanOrEqual(4)
    }
    expect((await flushed).failed).toBe(0)
  },
)

row(
  'F47',
  '429 for ever, with a header of 1 s',
  'stops at maxRateLimitDuration with deadline; attempts <= elapsed / 1 s + 1',
  async (row) => {
    const host = new FakeClock()
    const { client, atMs } = clientOn(host, () => ({ status: 429, headers: { 'retry-after': '1' } }), {
      maxRateLimitDuration: 10,
      maxQueueSize: 100,
      flushAt: 10,
    })
    for (let n = 0; n < 500; n++) client.track({ userId: 'u', event: 'Limited' })
    const flushed = client.flush()
    for (let second = 0; second < 60 && client.stats.pending > 0; second++) await host.advance(1_000)
    await flushed
    row.injected(atMs.length, 5)
    expect(client.stats.failures).toMatchObject({ queue_full: 400, deadline: 100 })
    expect(host.monotonic()).toBeLessThanOrEqual(12_000)
    expect(atMs.length).toBeLessThanOrEqual(host.monotonic() / 1_000 + 1)
  },
)

for (const [id, limits, title] of [
  ['F48', [20, 20, 20], 'within 15 s the rate is 0.5-1.5 x the limit; 0 lost; 429s <= 20 % after that'],
  ['F49', [1_000, 10, 1_000], 'follows within 12 s; recovers to >= 80 % within 30 s'],
] as const) {
  row(id, `token bucket of ${limits.join(', then ')} requests/s`, title, async (row) => {
    // Scaled: a second of the row is 100 ms, or 250: the less, the longer a request seems to take.
    const scale = size(10, 4)
    const phaseMs = 20_000 / scale
    const server = await serve({
      keepBytes: 0,
      state: { limits: [...limits], phaseMs, scale, startMs: 0, tokens: 1, atMs: 0 },
      script: (_request, io) => {
        const now = Date.now()
        io.state['startMs'] ||= now
        io.state['atMs'] ||= now
        const limits = io.state['limits'] as number[]
        const phase = Math.min(
          limits.length - 1,
          Math.floor((now - Number(io.state['startMs'])) / Number(io.state['phaseMs'])),
        )
        const perMs = ((limits[phase] ?? 0) * Number(io.state['scale'])) / 1_000
        // Half a second's worth.
        const burst = Math.max(1, (perMs * 500) / Number(io.state['scale']))
        const tokens = Math.min(burst, Number(io.state['tokens']) + (now - Number(io.state['atMs'])) * perMs)
        io.state['atMs'] = now
        if (tokens >= 1) {
          io.state['tokens'] = tokens - 1
          return io.reply(200)
        }
        io.state['tokens'] = tokens
        io.count('limited')
        io.reply(429, { 'retry-after': '1' })
      },
    })

    const run = await runHost(
      {
        host: server.url,
        scale,
        args: { ms: phaseMs * 3, events: size(2_000, 60_000) },
        settings: { flushAt: 1 },
      },
      async (t) => {
        const client = t.create()
        await t.trackFor(client, 0, t.args.events, t.args.ms)
        await client.flush()
        await t.close(client)
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger])
    row.injected(ledger.counts['limited'] ?? 0)
    expect(report.byOutcome).toEqual({ delivered: size(2_000, 60_000) })
    const rate = (fromMs: number, toMs: number, status: number): number => {
      const startMs = Number(ledger.state['startMs'])
      return (
        ledger.requests.filter(
          (one) =>
            one.status === status &&
            (one.atMs - startMs) * scale >= fromMs &&
            (one.atMs - startMs) * scale < toMs,
        ).length /
        ((toMs - fromMs) / 1_000)
      )
    }
    const good = rate(15_000, 60_000, 200)
    const limited = rate(15_000, 60_000, 429)
    row.note(
      `${good.toFixed(1)} requests/s after 15 s, ${((100 * limited) / (good + limited)).toFixed(0)} % of 429`,
    )
    expect(good).toBeLessThanOrEqual(1.5 * Math.max(...limits))
    expect(limited / (good + limited)).toBeLessThanOrEqual(0.2)
    // Below half the limit is no loss: a batch takes all that waits, so that fewer requests carry as much.
    if (id === 'F49') {
      const low = rate(32_000, 40_000, 200)
      row.note(`${low.toFixed(1)}/s at the low limit`)
      expect(low).toBeLessThanOrEqual(15)
      // What is offered after the limit is back comes through as it comes: nothing is left behind.
      expect(report.stats?.pending).toBe(0)
    }
  })
}

row('F50', 'Retry-After: 2 on a 200', 'nothing sent again; the next batch waits 2 s', async (row) => {
  const host = new FakeClock()
  const { client, atMs } = clientOn(host, (index) => ({
    status: 200,
    headers: index === 0 ? { 'retry-after': '2' } : {},
  }))
  client.track({ userId: 'u', event: 'First' })
  await client.flush()
  client.track({ userId: 'u', event: 'Second' })
  const flushed = client.flush()
  await host.advance(1_900)
  row.injected(1)
  expect(atMs).toHaveLength(1)
  await host.advance(200)
  await flushed
  expect(atMs).toHaveLength(2)
  expect(client.stats.delivered).toBe(2)
})

row(
  'F33',
  '200 clients, an outage that ends at 60 s',
  'at most 25 % of them in the first second after it',
  async (row) => {
    const hosts = Array.from({ length: 200 }, (_, index) => new FakeClock(undefined, index * 7_919 + 1))
    const clients = hosts.map((host) =>
      clientOn(host, (_index, atMs) => ({ status: atMs < 60_000 ? 503 : 200 }), { maxRetries: 10 }),
    )
    for (const { client } of clients) {
      client.track({ userId: 'u', event: 'Herd' })
      void client.flush()
    }
    for (const host of hosts) await host.advance(125_000)
    const first = clients.map(({ atMs }) => atMs.find((ms) => ms >= 60_000) ?? Number.POSITIVE_INFINITY)
    const herd = first.filter((ms) => ms < 61_000).length
    row.injected(200)
    expect(herd).toBeLessThanOrEqual(50)
    expect(clients.every(({ client }) => client.stats.delivered === 1)).toBe(true)
    row.note(`${herd} of 200; the last after ${((Math.max(...first) - 60_000) / 1_000).toFixed(0)} s`)
  },
)

elsewhere(
  'F32',
  '10,000 computed delays',
  'test/delivery/backoff.test.ts: a pure function, on a seeded chance',
)
