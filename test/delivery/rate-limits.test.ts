/** Rate limits by Retry-After and by the headers (X-)RateLimit: a client on a fake clock gets prepared responses. */
import { afterEach, expect, test, vi } from 'vitest'
import { Analytics, type AnalyticsSettings } from '../../src/index.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

interface Reply {
  status: number
  headers?: Record<string, string>
}

type OnHost = new (settings: AnalyticsSettings, host: FakeClock) => Analytics

/** The lists have the time and the number of events of each request. */
function clientOn(
  host: FakeClock,
  answer: (index: number, atMs: number) => Reply,
  settings: Partial<AnalyticsSettings> = {},
): { client: Analytics; atMs: number[]; events: number[] } {
  const atMs: number[] = []
  const events: number[] = []
  const client = new (Analytics as unknown as OnHost)(
    {
      writeKey: 'wk_Limits_7',
      ...settings,
      httpClient: async (_url, { body }) => {
        atMs.push(host.elapsedMs)
        events.push(JSON.parse(body).batch.length)
        const { status, headers = {} } = answer(atMs.length - 1, host.elapsedMs)
        return { status, statusText: '', headers }
      },
    },
    host,
  )
  return { client, atMs, events }
}

/** The milliseconds between a first request, which gets `reply`, and the second one. */
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

/** Writes a time in one of the three forms of an HTTP-date (RFC 9110, section 5.6.7). */
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

test('F39 Retry-After as IMF-fixdate, RFC 850 and asctime: 3 s, all read as GMT', async () => {
  vi.stubEnv('TZ', 'America/New_York')
  for (const form of ['imf', 'rfc850', 'asctime'] as const) {
    const waitMs = await waitAfter((host) => ({
      status: 429,
      headers: { 'retry-after': httpDate(host.now() + 3_000, form) },
    }))
    expect(Math.abs(waitMs - 3_000)).toBeLessThanOrEqual(1_000)
  }
})

test("F40 an HTTP-date from a server 1 h ahead or behind: measured from the reply's own Date", async () => {
  for (const skewMs of [3_600_000, -3_600_000]) {
    const waitMs = await waitAfter((host) => ({
      status: 429,
      headers: {
        date: httpDate(host.now() + skewMs, 'imf'),
        'retry-after': httpDate(host.now() + skewMs + 5_000, 'imf'),
      },
    }))
    expect(Math.abs(waitMs - 5_000)).toBeLessThanOrEqual(1_000)
  }
})

test('F41 X-RateLimit-Reset, RateLimit-Reset and RateLimit in all their forms: 2 s in all', async () => {
  const forms: ((host: FakeClock) => Record<string, string>)[] = [
    () => ({ 'X-RateLimit-Reset': '2' }),
    (host) => ({ 'X-RateLimit-Reset': String(Math.round(host.now() / 1_000) + 2) }),
    (host) => ({ 'X-RateLimit-Reset': String(host.now() + 2_000) }),
    () => ({ 'RateLimit-Reset': '2' }),
    () => ({ RateLimit: '"d";r=0;t=2' }),
  ]
  for (const form of forms) {
    const waitMs = await waitAfter((host) => ({ status: 429, headers: form(host) }))
    expect(Math.abs(waitMs - 2_000)).toBeLessThanOrEqual(300)
  }
})

test('F42 Retry-After and another header, or several values: Retry-After wins; of its values, the longest', async () => {
  for (const [headers, wantedMs] of [
    [{ 'retry-after': '4', 'x-ratelimit-reset': '9' }, 4_000],
    [{ 'retry-after': '2, 7' }, 7_000],
    [{ 'retry-after': '7, 2', 'ratelimit-reset': '1' }, 7_000],
  ] as const) {
    expect(await waitAfter({ status: 429, headers })).toBeCloseTo(wantedMs, -1)
  }
})

test('F43 malformed values: never a retry at once: the wait is at least 500 ms, at most 300 s', async () => {
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
      expect(waitMs, `${name}: ${value.slice(0, 20)}`).toBeGreaterThanOrEqual(500)
      expect(waitMs, `${name}: ${value.slice(0, 20)}`).toBeLessThanOrEqual(300_000)
    }
  }
})

test('F46 429 + 5 s while 50 batches are ready: one request before, one probe on opening, then 4 in flight', async () => {
  const host = new FakeClock()
  const atMs: number[] = []
  let answers: (() => void)[] = []
  const client = new (Analytics as unknown as OnHost)(
    {
      writeKey: 'wk_Limits_7',
      flushAt: 1_000_000,
      httpClient: () => {
        const index = atMs.push(host.elapsedMs) - 1
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
})

test('F47 429 for ever, with a header of 1 s: stops at maxRateLimitDuration with deadline; attempts <= elapsed / 1 s + 1', async () => {
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
  expect(client.stats.failures).toMatchObject({ queue_full: 400, deadline: 100 })
  expect(host.elapsedMs).toBeLessThanOrEqual(12_000)
  expect(atMs.length).toBeLessThanOrEqual(host.elapsedMs / 1_000 + 1)
})

test('F50 Retry-After: 2 on a 200: nothing sent again; the next batch waits 2 s', async () => {
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
  expect(atMs).toHaveLength(1)
  await host.advance(200)
  await flushed
  expect(atMs).toHaveLength(2)
  expect(client.stats.delivered).toBe(2)
})

test('F33 200 clients, an outage that ends at 60 s: at most 25 % of them in the first second after it', async () => {
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
  expect(herd).toBeLessThanOrEqual(50)
  expect(clients.every(({ client }) => client.stats.delivered === 1)).toBe(true)
})

test('F44 Retry-After: 9999999999: clamped to 300 s', async () => {
  expect(await waitAfter({ status: 429, headers: { 'retry-after': '9999999999' } })).toBeCloseTo(300_000, -1)
})
