/** Overload and outage: bounded memory, bounded requests, exact counts, and recovery. */
import { expect } from 'vitest'
import { backoffsOf, expectOracleRules, Oracle, runHost, serve, size, sleep } from './harness/lab.ts'
import { row } from './harness/row.ts'

/** Delays are rounded up to whole milliseconds. */
const BACKOFF_CAP_MS = 60_001
const MAX_REQUESTS_A_MINUTE = 15

for (const [text, bytes] of [
  ['plain text', 1_023],
  ['text with emoji', 1_024],
] as const) {
  row(
    'F09',
    `black hole for 60 s: connections accepted, no responses; events of 1 KB, ${text}`,
    'events that do not fit are refused with queue_full; <= 4 sockets; RSS <= start + 144 MB during the outage and start + 192 MB in the recovery (start + 64 MB in the default size of this test); all accepted events are delivered',
    async (row) => {
      const events = size(2_000, 200_000)
      const maxQueueBytes = size(131_072, 33_554_432)
      const scale = size(20, 10)
      const server = await serve({
        state: { isHealed: false },
        keepBytes: 0,
        script: (_request, io) => {
          if (io.state['isHealed'] === true) return io.reply(200)
          io.count('held')
        },
      })

      const run = await runHost(
        {
          host: server.url,
          args: { events, bytes, outageMs: 60_000 / scale },
          // Each event has a callback, so it counts as awaited: with the default maxRetries it would fail after four failures.
          settings: { maxQueueBytes, maxQueueSize: 1_000_000, maxRetries: 100 },
          scale,
          limitMs: 100_000,
          // The program writes to stdout when all events are tracked and a minute of the client's clock is over. This
          // ends the outage.
          onStart: (child) =>
            child.stdout?.once('data', () => {
              void server.run((all) => {
                all.state.isHealed = true
              })
            }),
        },
        async (t) => {
          const client = t.create()
          await t.trackAll(client, 0, t.args.events, t.args.bytes, 100)
          const refused = t.countOf('queue_full')
          const pending = client.stats.pending
          await t.sleep(100)
          const overloadBytes = t.report.rssMaxBytes
          await t.sleep(Math.max(0, t.args.outageMs - t.now()))
          process.stdout.write('overloaded')
          // The default timeout would be 1.25 s of real time.
          await t.close(client, { timeout: 0 })
          return { refused, pending, overloadBytes }
        },
      )

      const ledger = await server.report()
      const report = expectOracleRules(run, [ledger], { failures: ['queue_full'] })
      const held = ledger.counts['held'] ?? 0
      row.injected(held)
      const { refused, pending, overloadBytes } = report.result as Record<
        'refused' | 'pending' | 'overloadBytes',
        number
      >
      expect(refused).toBeGreaterThan(0)
      expect(pending).toBe(events - refused)
      expect(report.byOutcome).toEqual({ delivered: events - refused, queue_full: refused })
      // The pending events, including those in flight, fill `maxQueueBytes` to within 3 %.
      const bytesEach =
        ledger.requests.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0) / Math.max(1, ledger.messages)
      const waited = pending * bytesEach
      expect(waited / maxQueueBytes).toBeGreaterThan(0.97)
      expect(waited / maxQueueBytes).toBeLessThan(1.03)
      expect(ledger.maxActive).toBeLessThanOrEqual(4)
      // 4 for concurrent requests, and those that undici opens by itself after an abort.
      expect(ledger.maxOpenConnections).toBeLessThanOrEqual(8)
      const startMs = ledger.requests[0]?.atMs ?? 0
      const inOneMinute = ledger.requests.filter(({ atMs }) => atMs - startMs < 60_000 / scale)
      expect(inOneMinute.length).toBeLessThanOrEqual(MAX_REQUESTS_A_MINUTE)
      const overloadMb = (overloadBytes - report.rssStartBytes) / 1_048_576
      const peakMb = (report.rssMaxBytes - report.rssStartBytes) / 1_048_576
      expect(overloadMb).toBeLessThanOrEqual(size(64, 144))
      expect(peakMb).toBeLessThanOrEqual(size(64, 192))
    },
    120_000,
  )
}

for (const fault of ['500', '503', 'reset', 'silence']) {
  row(
    'F29',
    `${fault === 'reset' || fault === 'silence' ? fault : `status ${fault}`} for 60 s under constant load`,
    '<= 15 requests in the first minute, however full the queue is; recovered within one backoff cap; 0 lost',
    async (row) => {
      // With `silence`, requests time out. Their timeout of 10 s is scaled too, and the server must be able to respond
      // within it even on a busy machine, so this clock runs less fast.
      const scale = fault === 'silence' ? 6 : 20
      const events = size(2_000, 60_000)
      const server = await serve({
        state: { outageMs: 60_000 / scale, startMs: 0, fault },
        script: (_request, io) => {
          io.state['startMs'] ||= Date.now()
          const sinceMs = Date.now() - Number(io.state['startMs'])
          if (sinceMs >= Number(io.state['outageMs'])) return io.reply(200)
          io.count('failed')
          if (io.state['fault'] === 'reset') return io.reset()
          if (io.state['fault'] !== 'silence') io.reply(Number(io.state['fault']))
        },
      })

      const run = await runHost(
        {
          host: server.url,
          args: { events, ms: 60_000 / scale },
          // With `silence`, the requests of the outage time out.
          settings: fault === 'silence' ? {} : { httpRequestTimeout: 50_000_000 },
          scale,
          forgets: true,
        },
        async (t) => {
          const client = t.create()
          await t.trackFor(client, 0, t.args.events, t.args.ms)
          await t.until(() => client.stats.pending === 0, 30_000)
          // A new event is delivered at once.
          t.track(client, t.args.events)
          await t.close(client, { timeout: 0 })
        },
      )

      const ledger = await server.report()
      const report = expectOracleRules(run, [ledger])
      const failed = ledger.counts['failed'] ?? 0
      row.injected(failed, 4)
      expect(failed).toBeLessThanOrEqual(MAX_REQUESTS_A_MINUTE)
      expect(report.byOutcome).toEqual({ delivered: events + 1 })
      expect(Math.max(...backoffsOf(report))).toBeLessThanOrEqual(BACKOFF_CAP_MS)
      expect(ledger.maxOpenConnections).toBeLessThanOrEqual(4 + failed)
    },
  )
}

row(
  'F14',
  'and F15: server process paused (SIGSTOP) for 30 s: it neither reads nor responds',
  'few connections, no wait longer than the backoff cap, 0 lost',
  async (row) => {
    const scale = 20
    const outageMs = 30_000 / scale
    const events = size(2_000, 60_000)
    const oracle = new Oracle()
    const server = await oracle.listen({
      script: async (request, io) => {
        if (request.index === 0) io.state['startMs'] = Date.now()
        await io.sleep(2)
        io.reply(200)
      },
    })
    let healedMs = 0
    const outage = sleep(1_000).then(async () => {
      oracle.signal('SIGSTOP')
      await sleep(outageMs)
      oracle.signal('SIGCONT')
      healedMs = Date.now()
    })

    const run = await runHost(
      { host: server.url, args: { events }, settings: { flushAt: 20 }, scale, forgets: true },
      async (t) => {
        const client = t.create()
        // Tracks for a minute of the client's clock, with the outage in the middle.
        await t.trackFor(client, 0, t.args.events, 3_000)
        await t.until(() => client.stats.pending === 0, 30_000)
        await t.close(client)
      },
    )

    await outage
    const ledger = await server.report()
    oracle.stop()
    const report = expectOracleRules(run, [ledger], {})
    row.injected(1)
    expect(report.byOutcome).toEqual({ delivered: events })
    expect(ledger.maxOpenConnections).toBeLessThanOrEqual(16)
    const after = ledger.requests.filter(({ atMs }) => atMs >= healedMs)
    const first = after.find(({ status }) => status === 200)
    expect(first, 'a request after the outage').toBeDefined()
    expect(Math.max(...backoffsOf(report))).toBeLessThanOrEqual(BACKOFF_CAP_MS)
  },
)
