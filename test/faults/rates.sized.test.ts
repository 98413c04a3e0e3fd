/** Rate limits of a real server. test/core/rate-limits.test.ts checks exact values on a fake clock. */
import { expect } from 'vitest'
import { expectOracleRules, runHost, serve, size, waitsAfterRequests } from './harness/lab.ts'
import { row } from './harness/row.ts'

row(
  'F38',
  'Retry-After: 2 on 429, 503, 408',
  'the next request at 2.0-2.5 s; a 429 does not count as a retry',
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
      // One retry is enough for two 429s, but not for two 503s.
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
        // The timer waits for the rest of the 2 s: a busy machine may have used some of them before the client set the timer.
        expect(set.filter((ms) => ms > 1_000 && ms <= 2_500)).not.toEqual([])
      }
      expect(report.byOutcome).toEqual(status === 429 ? { delivered: 10 } : { retries_exhausted: 10 })
      expect(ledger.requests).toHaveLength(status === 429 ? 3 : 2)
    }
    await Promise.all([429, 503, 408].map(check))
  },
)

for (const [id, limits, title] of [
  ['F48', [20, 20, 20], 'after 15 s at most 1.5 x the limit, 0 lost, 429s <= 20 %'],
  ['F49', [1_000, 10, 1_000], 'the client follows within 12 s; no event is left at the end'],
] as const) {
  row(id, `token bucket of ${limits.join(', then ')} requests/s`, title, async (row) => {
    // A second of the client's clock takes 100 ms of real time, or 250 ms in the full size. With a faster clock,
    // requests would seem to take too long, and in F49 a busy machine would send too few of them to meet the low limit.
    const scale = id === 'F49' ? 4 : size(10, 4)
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
        // The bucket holds the tokens of half a second.
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
        // A busy machine would seem to time out with the default, which is a second of real time.
        settings: { flushAt: 1, httpRequestTimeout: 100_000 },
      },
      async (t) => {
        const client = t.create()
        await t.trackFor(client, 0, t.args.events, t.args.ms)
        await t.until(() => client.stats.pending === 0, 40_000)
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
    // No minimum is checked: a batch takes all waiting events, so a client that sends fewer requests may deliver as
    // many events.
    if (id === 'F49') {
      const low = rate(32_000, 40_000, 200)
      row.note(`${low.toFixed(1)}/s at the low limit`)
      expect(low).toBeLessThanOrEqual(15)
      expect(report.stats?.pending).toBe(0)
    }
  })
}
