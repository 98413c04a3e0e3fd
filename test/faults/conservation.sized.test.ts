/** Conservation: connections are cut after the request was read, and no event is lost without a report. */
import { expect } from 'vitest'
import { expectOracleRules, runHost, serve, size } from './harness/lab.ts'
import { row } from './harness/row.ts'

for (const maxConcurrentRequests of [1, 4]) {
  row(
    'F01',
    `and F72: connection closed after the request was read, 10 %, ${maxConcurrentRequests} in flight`,
    '0 lost, repeats byte-equal, requests <= 1.15 x batches (1.25 x in the default size); order holds within batches',
    async (row) => {
      const events = size(2_000, 100_000)
      const perBatch = size(10, 100)
      const server = await serve({
        seed: 7,
        script: (_request, io) => {
          if (io.random() < 0.1) {
            io.count('cut')
            return io.reset()
          }
          io.reply(200)
        },
      })

      const run = await runHost(
        {
          host: server.url,
          args: { events, perBatch },
          // With the default timeout, a busy machine would seem to time out.
          settings: { maxConcurrentRequests, flushAt: perBatch, maxRetries: 20, httpRequestTimeout: 200_000 },
          scale: 20,
        },
        async (t) => {
          const client = t.create()
          for (let n = 0; n < t.args.events; n += t.args.perBatch) {
            // Tracks one batch per turn of the event loop, and only while fewer than four batches are pending:
            // otherwise the client would merge the batches into a few large requests.
            await t.trackAll(client, n, n + t.args.perBatch)
            await t.until(() => client.stats.pending < t.args.perBatch * 4, 20_000)
          }
          await t.close(client)
        },
      )

      const ledger = await server.report()
      const report = expectOracleRules(run, [ledger])
      const cuts = ledger.counts['cut'] ?? 0
      row.injected(cuts, size(10, 50))
      expect(report.byOutcome).toEqual({ delivered: events })
      expect(ledger.acknowledged).toBe(events)
      const batches = ledger.requests.length - cuts
      expect(ledger.requests.length).toBeLessThanOrEqual(Math.ceil(batches * size(1.25, 1.15)))
      expect(ledger.requests.every(({ isOrdered }) => isOrdered)).toBe(true)
    },
    120_000,
  )
}

for (const percent of [50, 90]) {
  for (const maxRetries of [100, 10]) {
    const isEnough = maxRetries === 100
    row(
      'F02',
      `connections cut after the request, ${percent} %, maxRetries ${maxRetries}`,
      isEnough ? '0 lost' : 'the loss is exactly the events that were reported as retries_exhausted',
      async (row) => {
        // Where nine of ten requests fail, nearly every event ends up in a request of its own.
        const events = percent === 90 ? size(200, 1_000) : size(2_000, 20_000)
        const server = await serve({
          seed: percent + maxRetries,
          state: { percent },
          script: (_request, io) => {
            if (io.random() * 100 < Number(io.state['percent'])) {
              io.count('cut')
              return io.reset()
            }
            io.reply(200)
          },
        })

        const run = await runHost(
          {
            host: server.url,
            args: { events },
            // The client's clock runs 2,000 times as fast as real time: with the default timeout, even a prompt
            // response would be late.
            settings: { maxRetries, httpRequestTimeout: 20_000_000, maxTotalBackoffDuration: 2_000_000 },
            scale: 2_000,
          },
          async (t) => {
            const client = t.create()
            await t.trackAll(client, 0, t.args.events, 1_500, 100)
            await client.flush()
            // The default timeout would be 40 ms of real time.
            await t.close(client, { timeout: 0 })
          },
        )

        const ledger = await server.report()
        const report = expectOracleRules(run, [ledger], { failures: isEnough ? [] : ['retries_exhausted'] })
        row.injected(ledger.counts['cut'] ?? 0, 5)
        const lost = report.byOutcome['retries_exhausted'] ?? 0
        expect(ledger.acknowledged).toBe(events - lost)
      },
      300_000,
    )
  }
}
