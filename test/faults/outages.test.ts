/**
 * Section 8.1 of docs/spec.md, with the built package and real sockets. No callback, promise or flush waits for the
 * events, so they may stay in the queue until the outage is over.
 */
import { expect } from 'vitest'
import { holdPort } from '../support/held-port.ts'
import { expectOracleRules, runHost, serve } from './harness/lab.ts'
import { row } from './harness/row.ts'

for (const fault of ['500', '404', '403', '401', '301', '405', 'reset']) {
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

row(
  '8.1',
  'no server listens at the address; the client is closed after the first failures',
  'the error of the event has the failure of the service in its message and as its cause',
  async (row) => {
    const { port, release } = await holdPort()

    const run = await runHost({ host: `http://127.0.0.1:${port}`, scale: 20 }, async (t) => {
      const client = t.create()
      const causes: unknown[] = []
      client.on('error', ({ reason }) => {
        causes.push([
          reason.code,
          reason.message.includes('the service failed with'),
          (reason.cause as Error)?.message,
        ])
      })
      client.track({ userId: 'u', event: 'Lost' })
      await t.until(() => client.status.lastError !== undefined, 10_000)
      await t.close(client, { timeout: 100 })
      return causes
    })

    release()
    const causes = run.report?.result as [string, boolean, string][]
    row.injected(1)
    expect(causes).toHaveLength(1)
    expect(causes[0]?.slice(0, 2)).toEqual(['shutdown_timeout', true])
    expect(causes[0]?.[2]).toMatch(/ECONNREFUSED/)
  },
)
