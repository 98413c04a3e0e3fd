/**
 * Section 8.1 of docs/spec.md, with the built package and real sockets. No callback, promise or flush waits for the
 * events, so they may stay in the queue until the outage is over.
 */
import { expect } from 'vitest'
import { expectOracleRules, isFull, runHost, serve } from './harness/lab.ts'
import { row } from './harness/row.ts'

for (const fault of ['500', '401', 'reset', ...(isFull ? ['404', '403', '301', '405'] : [])]) {
  row(
    '8.1',
    `${fault} for a minute during load, nobody waits for the events`,
    '0 lost; at most 25 requests in the first minute; at least one warning',
    async (row) => {
      const scale = 20
      const events = 2_000
      const server = await serve({
        state: { fault, outageMs: 60_000 / scale, accepted: 0, startMs: 0 },
        script: (_request, io) => {
          io.state['accepted'] = Number(io.state['accepted']) + 1
          // Accepts the first requests, so that the client has seen its settings work.
          if (Number(io.state['accepted']) <= 2) return io.reply(200)
          io.state['startMs'] ||= Date.now()
          if (Date.now() - Number(io.state['startMs']) >= Number(io.state['outageMs'])) return io.reply(200)
          io.count('failed')
          if (io.state['fault'] === 'reset') return io.reset()
          io.reply(Number(io.state['fault']))
        },
      })

      const run = await runHost(
        {
          host: server.url,
          args: { events, ms: 60_000 / scale },
          // With the default timeout, the first requests would seem to time out on a busy machine.
          settings: { httpRequestTimeout: 200_000 },
          scale,
          forgets: true,
        },
        async (t) => {
          const client = t.create()
          await t.trackAll(client, 0, 20)
          await t.until(() => client.stats.delivered > 0, 20_000)
          await t.trackFor(client, 20, t.args.events, t.args.ms)
          await t.until(() => client.stats.pending === 0, 40_000)
          await t.close(client)
        },
      )

      const ledger = await server.report()
      const report = expectOracleRules(run, [ledger])
      const failed = ledger.counts['failed'] ?? 0
      row.injected(failed, 3)
      // If a request that was sent earlier is accepted after the first failure, eight suspects are tried first.
      expect(failed).toBeLessThanOrEqual(25)
      expect(report.byOutcome).toEqual({ delivered: events })
      expect(report.warnings.length).toBeGreaterThan(0)
      row.note(`${failed} requests failed`)
    },
  )
}
