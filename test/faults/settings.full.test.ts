import { expect } from 'vitest'
import { expectOracleRules, runHost, serve, size } from './harness/lab.ts'
import { row } from './harness/row.ts'

for (const [name, execArgv, env] of [
  ['no fetch', ['--no-experimental-fetch'], {}],
  [
    'S45: --permission with access to the file system only',
    ['--experimental-permission', '--allow-fs-read=*', '--allow-fs-write=*'],
    {},
  ],
  ['--frozen-intrinsics', ['--frozen-intrinsics'], {}],
  // Without WebAssembly, on which undici depends.
  ['--jitless', ['--jitless'], {}],
  ['--throw-deprecation', [], { NODE_OPTIONS: '--throw-deprecation' }],
  ['S21: --disable-proto=delete', ['--disable-proto=delete'], {}],
  ['S21: --disable-proto=throw', ['--disable-proto=throw'], {}],
  ['S21: a frozen Object.prototype', [], {}],
  ['B38: enumerable keys on Object.prototype', [], {}],
] as const) {
  row(
    'B66',
    `environment: ${name}`,
    'works, or the constructor throws a clear error; no crash at a later call',
    async (row) => {
      const server = await serve()

      const setup = { host: server.url, execArgv: [...execArgv], env: { ...env }, args: { name } }
      const run = await runHost(setup, async (t) => {
        const prototype = Object.prototype as unknown as Record<string, unknown>
        if (t.args.name.includes('frozen Object')) Object.freeze(prototype)
        if (t.args.name.includes('enumerable')) Object.assign(prototype, { polluted: 1, flushAt: 'bad' })
        const client = t.create()
        await t.trackAll(client, 0, 50)
        const properties = { big: 1n as never, nasty: JSON.parse('{"__proto__":{"a":1}}') }
        client.track({ userId: 'u', event: 'Odd', properties })
        await client.flush()
        if (t.args.name.includes('enumerable')) for (const key in prototype) delete prototype[key]
        await t.close(client)
      })

      const ledger = await server.report()
      const report = expectOracleRules(run, [ledger], { otherCalls: true })
      row.injected(1)
      expect(report.byOutcome).toEqual({ delivered: 50 })
      expect(report.stats?.delivered).toBe(51)
      expect(ledger.maxOpenConnections).toBeLessThanOrEqual(4)
      const isSent = (server: { requests: { body: string }[] }): boolean =>
        server.requests.some(({ body }) => body.includes('polluted'))
      expect(await server.run(isSent)).toBe(false)
    },
  )
}

row(
  'F76',
  'two clients in a process; 20 worker threads (4 in the default size)',
  'separate counters, no shared state, no id twice',
  async (row) => {
    const workers = size(4, 20)
    const each = size(200, 20_000)
    const server = await serve({ keepBytes: 0 })

    const run = await runHost(
      { host: server.url, args: { workers, each, ids: size(200_000, 10_000_000) }, limitMs: 280_000 },
      async (t) => {
        const one = t.create()
        const other = t.create({ flushAt: 1 })
        await t.trackAll(one, 0, 100)
        await t.trackAll(other, 100, 150)
        await t.close(one)
        const separate = [one.stats.accepted, other.stats.accepted]
        await t.close(other)
        const { Worker } = process.getBuiltinModule('node:worker_threads')
        const packageUrl = process
          .getBuiltinModule('node:url')
          .pathToFileURL(
            JSON.parse(
              process.getBuiltinModule('node:fs').readFileSync(process.env['FAULTS_JOB'] as string, 'utf8'),
            ).packageFile,
          ).href
        const source = `
          import(${JSON.stringify(packageUrl)}).then(async ({ Analytics }) => {
            const { parentPort } = require('node:worker_threads')
            const client = new Analytics(${JSON.stringify(t.settings)})
            for (let n = 0; n < ${t.args.each}; n++) {
              client.track({ userId: 'u', event: 'From a thread' })
              if (n % 500 === 499) await client.flush()
            }
            await client.closeAndFlush()
            parentPort.postMessage(client.stats)
          })`
        const stats = await Promise.all(
          Array.from(
            { length: t.args.workers },
            () =>
              new Promise<{ accepted: number; delivered: number }>((done, fail) => {
                const worker = new Worker(source, { eval: true })
                worker.once('message', done)
                worker.once('error', fail)
              }),
          ),
        )
        await t.sleep(100)
        return { separate, stats }
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger])
    row.injected(workers * each + 150)
    const { separate, stats } = report.result as {
      separate: number[]
      stats: { accepted: number; delivered: number }[]
    }
    expect(separate).toEqual([100, 50])
    for (const { accepted, delivered } of stats) expect([accepted, delivered]).toEqual([each, each])
    expect(ledger.distinct).toBe(workers * each + 150)
    expect(ledger.duplicates).toBe(0)
  },
  300_000,
)
