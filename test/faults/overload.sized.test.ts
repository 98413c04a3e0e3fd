/** Overload and outage: bounded memory, bounded requests, exact counts, and recovery. */
import { expect } from 'vitest'
import { holdPort } from '../support/held-port.ts'
import {
  backoffsOf,
  expectFourSockets,
  expectOracleRules,
  Oracle,
  reportOf,
  runHost,
  serve,
  size,
  sleep,
  waitsOf,
} from './harness/lab.ts'
import { row } from './harness/row.ts'

const BACKOFF_CAP_MS = 60_000
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
          await client.flush()
          await t.close(client)
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
      expectFourSockets(row, ledger)
      const startMs = ledger.requests[0]?.atMs ?? 0
      const inOneMinute = ledger.requests.filter(({ atMs }) => atMs - startMs < 60_000 / scale)
      expect(inOneMinute.length).toBeLessThanOrEqual(MAX_REQUESTS_A_MINUTE)
      const overloadMb = (overloadBytes - report.rssStartBytes) / 1_048_576
      const peakMb = (report.rssMaxBytes - report.rssStartBytes) / 1_048_576
      expect(overloadMb).toBeLessThanOrEqual(size(64, 144))
      expect(peakMb).toBeLessThanOrEqual(size(64, 192))
      if (peakMb > 128) {
        const over = `${overloadMb.toFixed(0)} MB during the outage, ${peakMb.toFixed(0)} MB in the recovery`
        row.doesNotHold(`128 MB throughout: RSS + ${over}, half of which may be garbage in the heap`)
      }
      row.note(`${events - refused} accepted, ${refused} refused, RSS + ${overloadMb.toFixed(0)} MB`)
      row.note(`${held} requests in 60 s, ${ledger.maxOpenConnections} sockets at most`)
    },
    { timeoutMs: 120_000 },
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
        state: { outageMs: 60_000 / scale, startMs: 0, recoveredMs: 0, fault },
        script: (_request, io) => {
          io.state['startMs'] ||= Date.now()
          const sinceMs = Date.now() - Number(io.state['startMs'])
          if (sinceMs >= Number(io.state['outageMs'])) {
            io.state['recoveredMs'] ||= sinceMs
            return io.reply(200)
          }
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
      const recoveryMs = (Number(ledger.state['recoveredMs']) - 60_000 / scale) * scale
      expect(Math.max(...backoffsOf(report))).toBeLessThanOrEqual(BACKOFF_CAP_MS)
      expect(ledger.maxOpenConnections).toBeLessThanOrEqual(4 + failed)
      row.note(`${failed} requests in 60 s, recovered after ${(recoveryMs / 1_000).toFixed(0)} s`)
    },
  )
}

row(
  'F09',
  'a full queue, then in one turn 1 KB events that find no room, each with its own callback',
  'each is refused and its callback called once; refused events do not stay in memory until the turn ends',
  async (row) => {
    const events = size(200_000, 1_000_000)
    const server = await serve({ keepBytes: 0, script: (_request, io) => io.count('held') })

    const run = await runHost(
      { host: server.url, args: { events }, settings: { maxQueueBytes: 1_048_576 }, limitMs: 100_000 },
      async (t) => {
        const client = t.create()
        const pad = 'x'.repeat(900)
        let calls = 0
        const startBytes = process.memoryUsage().rss
        for (let user = 0; user < t.args.events; user++) {
          client.track({ userId: `usr_${user}`, event: 'Commande passée', properties: { pad } }, () => {
            calls++
          })
        }
        const growthBytes = process.memoryUsage().rss - startBytes
        await client.closeAndFlush({ timeout: 50 })
        return {
          calls,
          growthBytes,
          refused: client.stats.failures.queue_full,
          accepted: client.stats.accepted,
        }
      },
    )

    const { calls, growthBytes, refused, accepted } = reportOf(run).result as Record<string, number>
    row.injected(refused ?? 0, events / 2)
    expect([calls, accepted]).toEqual([events, events])
    // If refused events stayed in memory until the end of the turn, each would take 1 KB or more.
    const growthMb = (growthBytes ?? 0) / 1_048_576
    expect(growthMb).toBeLessThanOrEqual(160)
    row.note(`${refused} refused, RSS + ${growthMb.toFixed(0)} MB`)
  },
)

row(
  'F10',
  'connections refused for 60 s',
  '<= 15 attempts in 60 s, however full the queue is; delivered when the port opens',
  async (row) => {
    const scale = 20
    const events = size(2_000, 60_000)
    const { port, release } = await holdPort()
    const oracle = new Oracle()
    const opening = sleep(60_000 / scale + 400).then(() => oracle.listen({ port }))

    const run = await runHost(
      {
        host: `http://127.0.0.1:${port}`,
        args: { events },
        // No request may time out here: the default timeout would be half a second of real time, which a busy machine
        // may exceed.
        settings: { httpRequestTimeout: 60_000 },
        scale,
        forgets: true,
      },
      async (t) => {
        const client = t.create()
        const attempts: number[] = []
        let startMs = 0
        // On a busy machine, the first attempt is late, and the port opens less than a minute after it.
        let isOpen = false
        client.on('http_response', () => {
          isOpen = true
        })
        client.on('http_request', () => {
          startMs ||= t.now()
          if (!isOpen) attempts.push((t.now() - startMs) * 20)
        })
        await t.trackAll(client, 0, t.args.events)
        await t.until(() => client.stats.pending === 0, 30_000)
        await t.close(client)
        return attempts
      },
    )

    const ledger = await (await opening).report()
    oracle.stop()
    release()
    const report = expectOracleRules(run, [ledger])
    const attempts = report.result as number[]
    const early = attempts.filter((ms) => ms <= 60_000)
    row.injected(early.length, 4)
    expect(early.length).toBeLessThanOrEqual(MAX_REQUESTS_A_MINUTE)
    expect(report.byOutcome).toEqual({ delivered: events })
    row.note(`${early.length} attempts in 60 s for ${events} events`)
  },
)

for (const [id, fault] of [
  ['F14', 'partition for 30 s: the server neither reads nor responds'],
  ['F15', 'server process paused (SIGSTOP) for 20 s'],
] as const) {
  row(id, fault, 'few connections, no wait longer than the backoff cap, 0 lost', async (row) => {
    const scale = 20
    const outageMs = (id === 'F14' ? 30_000 : 20_000) / scale
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
    row.note(
      `first response ${((((first?.atMs ?? 0) - healedMs) * scale) / 1_000).toFixed(1)} s after it ended`,
    )
  })
}

row(
  'F69',
  '10,300 calls in one turn, maxQueueSize 10,000, slow server',
  'exactly 300 queue_full, 10,000 delivered, and calls after the flush are accepted',
  async (row) => {
    const [calls, bound] = [size(2_060, 10_300), size(2_000, 10_000)]
    const server = await serve({
      script: async (_request, io) => {
        await io.sleep(100)
        io.reply(200)
      },
    })

    const run = await runHost(
      { host: server.url, args: { calls }, settings: { maxQueueSize: bound } },
      async (t) => {
        const client = t.create()
        for (let n = 0; n < t.args.calls; n++) t.track(client, n)
        await client.flush()
        t.track(client, t.args.calls)
        await client.flush()
        await t.close(client)
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger], { failures: ['queue_full'] })
    row.injected(calls - bound)
    expect(report.byOutcome).toEqual({ delivered: bound + 1, queue_full: calls - bound })
  },
)

row(
  'F70',
  '5,000 events of 32 KB against maxQueueBytes',
  'exactly the events that fit are accepted; the rest fails and is counted',
  async (row) => {
    const events = size(500, 5_000)
    const maxQueueBytes = size(3_355_443, 33_554_432)
    const server = await serve({ keepBytes: 0 })

    const run = await runHost(
      { host: server.url, args: { events }, settings: { maxQueueBytes, flushAt: 1_000_000 } },
      async (t) => {
        const client = t.create()
        for (let n = 0; n < t.args.events; n++) t.track(client, n, 32_000)
        await client.flush()
        await t.close(client)
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger], { failures: ['queue_full'] })
    const delivered = report.byOutcome['delivered'] ?? 0
    const bytesEach = ledger.requests.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0) / delivered
    row.injected(report.byOutcome['queue_full'] ?? 0)
    expect(delivered * bytesEach).toBeLessThanOrEqual(maxQueueBytes * 1.01)
    expect((delivered + 1) * bytesEach).toBeGreaterThan(maxQueueBytes * 0.99)
    row.note(`${delivered} accepted at ${Math.round(bytesEach)} bytes each`)
  },
)

row(
  'F75',
  'one failed batch, then a full queue, then success',
  'later batches are sent: a new event is delivered within one flush interval',
  async (row) => {
    const server = await serve({
      script: (request, io) => {
        if (request.index > 0) return io.reply(200)
        io.count('failed')
        io.reply(402)
      },
    })

    const run = await runHost(
      { host: server.url, settings: { maxQueueSize: 50, flushAt: 10, flushInterval: 1_000 } },
      async (t) => {
        const client = t.create()
        await t.trackAll(client, 0, 10)
        await t.until(() => client.stats.failed === 10, 20_000)
        for (let n = 10; n < 100; n++) t.track(client, n)
        await t.until(() => client.stats.pending === 0, 20_000)
        t.track(client, 100)
        const isAlive = await t.until(() => t.outcome(100) === 'delivered', 20_000)
        await t.close(client)
        return isAlive
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger], { failures: ['rejected', 'queue_full'] })
    row.injected(ledger.counts['failed'] ?? 0)
    expect(report.result).toBe(true)
    // Only timers of the flush interval fired.
    expect(new Set(waitsOf(report, 'fired'))).toEqual(new Set([1_000]))
    expect(report.byOutcome).toEqual({ rejected: 10, delivered: 51, queue_full: 40 })
  },
)

row(
  'H05',
  'a healthy run: many batches at once, in a process that only sends',
  'one turn of the event loop starts at most 4 requests of 500,000 bytes, however full the queue is',
  async (row) => {
    const events = size(4_000, 40_000)
    const server = await serve({ keepBytes: 0 })

    const run = await runHost(
      {
        host: server.url,
        args: { events },
        settings: { flushAt: 1_000_000, maxQueueSize: 100_000, maxQueueBytes: 100_000_000 },
      },
      async (t) => {
        const client = t.create()
        let thisTurn = 0
        let most = 0
        client.on('http_request', () => {
          if (thisTurn++ === 0) {
            setImmediate(() => {
              thisTurn = 0
            })
          }
          most = Math.max(most, thisTurn)
        })
        for (let n = 0; n < t.args.events; n++) t.track(client, n, 2_000)
        t.restartLoopDelay()
        await client.flush()
        const { p99Ms } = t.restartLoopDelay()
        await t.close(client)
        return { most, p99Ms }
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger])
    row.injected(ledger.requests.length, 12)
    const { most, p99Ms } = report.result as { most: number; p99Ms: number }
    expect(most).toBe(4)
    expect(Math.max(...ledger.requests.map(({ bodyBytes }) => bodyBytes))).toBeLessThanOrEqual(500_000)
    row.note(`p99 of the event-loop delay ${p99Ms.toFixed(1)} ms`)
  },
)
