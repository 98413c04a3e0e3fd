/** A close during an outage, beside that of the SDK that users come from. */
import { createServer, type Server } from 'node:http'
import { expect } from 'vitest'
import { holdPort } from '../support/held-port.ts'
import { isFull, reportOf, runHost } from './harness/lab.ts'
import { row } from './harness/row.ts'

const EVENTS = 40
const SHORT_MS = 3_000
const FAULTS = ['503', 'refused connections', 'no response', '429 with a stated wait'] as const
type Fault = (typeof FAULTS)[number]

interface Outage {
  readonly host: string
  /** The outage ends by itself `downMs` later; a short one, `downMs` after the first request. */
  begin(): void
  readonly delivered: Set<string>
  readonly refused: () => number
  close(): void
}

/** A service that is down for some time, and then takes everything. */
async function outage(fault: Fault, downMs: number): Promise<Outage> {
  const delivered = new Set<string>()
  const held = await holdPort()
  let endMs: number | undefined
  let refused = 0
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('error', () => {})
    request.on('end', () => {
      // On a busy machine, a short outage might be over before the first request.
      endMs ??= Date.now() + (fault === 'refused connections' ? 0 : downMs)
      const leftMs = endMs - Date.now()
      if (leftMs <= 0) {
        const { batch } = JSON.parse(Buffer.concat(chunks).toString()) as { batch: { messageId: string }[] }
        for (const { messageId } of batch) delivered.add(messageId)
        response.end('{"success":true}')
        return
      }
      refused++
      if (fault === '503') response.writeHead(503).end()
      else if (fault !== 'no response') {
        response.writeHead(429, { 'retry-after': String(Math.ceil(leftMs / 1_000)) }).end()
      }
    })
  })
  const listen = (): unknown => server.listen(held.port, '127.0.0.1')
  if (fault !== 'refused connections') listen()
  let timer: NodeJS.Timeout | undefined
  return {
    host: `http://127.0.0.1:${held.port}`,
    begin() {
      if (downMs > SHORT_MS) endMs = Date.now() + downMs
      if (fault === 'refused connections') timer = setTimeout(listen, downMs)
    },
    delivered,
    refused: () => (fault === 'refused connections' ? 1 : refused),
    close() {
      clearTimeout(timer)
      server.closeAllConnections()
      server.close()
      held.release()
    },
  }
}

for (const timeout of isFull ? [25_000, undefined] : [undefined]) {
  const seconds = isFull ? [3, 7, 12, 20] : [1]
  row(
    'F78',
    `the service is down for ${seconds.join(', ')} s at a close whose timeout is ${timeout ?? 'not given'}: ${FAULTS.join(', ')}`,
    'never fewer delivered than by @segment/analytics-node in the same run',
    async (row) => {
      const cases = await Promise.all(
        FAULTS.flatMap((fault) =>
          seconds.map(async (down) => {
            const [ours, theirs] = await Promise.all([
              outage(fault, down * 1_000),
              outage(fault, down * 1_000),
            ])
            return { name: `${fault} for ${down} s`, ours, theirs }
          }),
        ),
      )

      const run = await runHost(
        {
          args: { events: EVENTS, timeout, hosts: cases.map(({ ours, theirs }) => [ours.host, theirs.host]) },
          limitMs: 80_000,
          onStart: (child) =>
            child.stdout?.once('data', () => {
              for (const { ours, theirs } of cases) for (const one of [ours, theirs]) one.begin()
            }),
        },
        async (t) => {
          const { createRequire } = process.getBuiltinModule('node:module')
          // The program runs in a folder of this repository.
          const require = createRequire(process.env['FAULTS_JOB'] as string)
          const theirs = require('@segment/analytics-node')
          process.stdout.write('ready')
          const close = { ...(t.args.timeout === undefined ? {} : { timeout: t.args.timeout }) }
          await t.sleep(50)
          return Promise.all(
            t.args.hosts.map(async ([ourHost, theirHost]) => {
              const our = new t.pkg.Analytics({ writeKey: 'k', host: ourHost as string })
              const their = new theirs.Analytics({ writeKey: 'k', host: theirHost })
              our.on('error', () => {})
              their.on('error', () => {})
              for (let n = 0; n < t.args.events; n++) {
                our.track({ userId: 'ada', event: 'Ordered', properties: { n } })
                their.track({ userId: 'ada', event: 'Ordered', properties: { n } })
              }
              const [summary] = await Promise.all([our.closeAndFlush(close), their.closeAndFlush(close)])
              return { ...summary, stats: our.stats.delivered }
            }),
          )
        },
      )

      for (const { ours, theirs } of cases) for (const one of [ours, theirs]) one.close()
      expect(run.exitCode).toBe(0)
      const { result, thrown } = reportOf(run)
      expect(thrown).toBeUndefined()
      row.injected(cases.filter(({ ours }) => ours.refused() > 0).length, cases.length / 2)
      const table = cases.map(
        ({ name, ours, theirs }) => [name, ours.delivered.size, theirs.delivered.size] as const,
      )
      if (process.env['PRINT']) console.log(JSON.stringify(table, undefined, 1))
      expect(table.filter(([, ours, theirs]) => ours < theirs)).toEqual([])
      // What the service has taken, the client has told.
      const told = (result as { delivered: number; stats: number }[]).map(({ delivered }) => delivered)
      expect(told).toEqual(table.map(([, ours]) => ours))
      if (!isFull) expect(told).toEqual(cases.map(() => EVENTS))
    },
    120_000,
  )
}
