/** Shutdown: every event has its outcome before close resolves, and the process ends as its program intends. */
import { expect } from 'vitest'
import { expectHealthyHost, expectOracleRules, reportOf, runHost, serve, waitsOf } from './harness/lab.ts'
import { row } from './harness/row.ts'

const linesAboutLoss = ({ stderr }: { stderr: string }): string[] =>
  stderr.split('\n').filter((line) => line.includes('lost'))

for (const format of ['esm', 'cjs'] as const) {
  row(
    'F81',
    `a script ends with 50 events queued (${format})`,
    '50 of 50 delivered, exit code 0, without waiting for the interval',
    async (row) => {
      const server = await serve()

      const run = await runHost({ host: server.url, format }, (t) => {
        const client = t.create()
        for (let n = 0; n < 50; n++) t.track(client, n)
      })

      const report = expectOracleRules(run, [await server.report()], { unclosed: true })
      row.injected(50)
      expect(report.byOutcome).toEqual({ delivered: 50 })
      // A busy machine may take long enough for the look at idle connections.
      expect(waitsOf(report, 'fired').filter((ms) => ms >= 5_000)).toEqual([])
    },
  )
}

row(
  'F81',
  'a script ends with 50 events queued; the server is not running, or responds with 503 or with 429 for an hour',
  'exits by itself after exitTimeout, at once if that is 0, exit code 0, the loss counted, and told in one line',
  async (row) => {
    const cases: [fault: string, exitTimeout: number][] = [
      ['is not running', 1_500],
      ['is not running', 0],
      ['answers 503', 1_500],
      ['responds with 429 for an hour', 1_500],
    ]
    const runs = cases.map(async ([fault, exitTimeout]) => {
      const server = await serve({
        state: { fault },
        script: (_request, io) => {
          if (io.state['fault'] === 'answers 503') io.reply(503)
          else io.reply(429, { 'retry-after': '3600' })
        },
      })
      if (fault === 'is not running') await server.stop()

      return runHost({ host: server.url, settings: { exitTimeout } }, (t) => {
        // Adds no listener, so that the loss is told on stderr.
        const client = new t.pkg.Analytics(t.settings)
        t.watch(client)
        for (let n = 0; n < 50; n++) client.track({ userId: 'u', event: 'Left behind' })
      })
    })

    for (const [index, run] of (await Promise.all(runs)).entries()) {
      const report = reportOf(run)
      expectHealthyHost(run, { unclosed: true })
      row.injected(50, 200)
      expect(report.stats).toMatchObject({ accepted: 50, failed: 50, failures: { shutdown_timeout: 50 } })
      expect(linesAboutLoss(run)).toEqual(['trackpost: 50 events were lost, because the process ended'])
      const exitTimeout = cases[index]?.[1]
      if (exitTimeout === 0) expect(waitsOf(report, 'fired').filter((ms) => ms >= 5_000)).toEqual([])
      else expect(report.lifeMs).toBeGreaterThanOrEqual(1_400)
    }
  },
)

row(
  'F81',
  'a beforeExit listener of the program tracks an event',
  'it is delivered, like what was queued before',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url }, (t) => {
      const client = t.create()
      t.track(client, 0)
      process.once('beforeExit', () => t.track(client, 1))
    })

    const report = expectOracleRules(run, [await server.report()], { unclosed: true })
    row.injected(1)
    expect(report.byOutcome).toEqual({ delivered: 2 })
  },
)

row(
  'F82',
  'process.exit(3) with 50 queued',
  'exit 3, nothing delivered, no wait; the loss is counted, told in one line, and to nobody else',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url, settings: { flushAt: 1_000 } }, (t) => {
      const client = t.create()
      for (let n = 0; n < 50; n++) t.track(client, n)
      process.exit(3)
    })

    const ledger = await server.report()
    const report = reportOf(run)
    expectHealthyHost(run, { unclosed: true, exitCode: 3 })
    row.injected(50)
    expect(ledger.connections).toBe(0)
    expect(report.stats).toMatchObject({ accepted: 50, pending: 0, failures: { shutdown_timeout: 50 } })
    expect(report.byOutcome).toEqual({ none: 50 })
    expect(report.errors).toEqual({})
    expect(linesAboutLoss(run)).toEqual(['trackpost: 50 events were lost, because the process ended'])
    expect(waitsOf(report, 'fired')).toEqual([])
  },
)

for (const how of ['of a delivered event', 'of an event that is refused', 'at the end of a close']) {
  row(
    'F82',
    `process.exit(4) in a callback ${how}, while other events wait`,
    "exit 4; the program's own exit listeners run; nobody is called at exit, and the counts are right there",
    async (row) => {
      const server = await serve({
        state: { how },
        script: (_request, io) => io.reply(io.state['how'] === 'of a delivered event' ? 200 : 402),
      })

      const run = await runHost({ host: server.url, args: { how }, settings: { flushAt: 10 } }, (t) => {
        const client = t.create()
        let isExiting = false
        let calledAtExit = 0
        const called = (): void => {
          if (isExiting) calledAtExit++
          isExiting = true
          process.exit(4)
        }
        client.on('error', () => (isExiting ? calledAtExit++ : 0))
        // The first is sent alone.
        for (let n = 0; n < 10; n++) client.track({ userId: 'u', event: 'Exits' }, called)
        for (let n = 0; n < 5; n++) client.track({ userId: 'u', event: 'Waits' }, called)
        if (t.args.how === 'at the end of a close') void client.closeAndFlush({ timeout: 1 })
        process.on('exit', () => {
          const { writeSync } = process.getBuiltinModule('node:fs')
          writeSync(1, JSON.stringify({ ...client.stats, calledAtExit }))
        })
        return t.turn().then(() => new Promise(() => setTimeout(() => {}, 20_000)))
      })

      expectHealthyHost(run, { unclosed: true, exitCode: 4 })
      row.injected(15)
      const { accepted, delivered, failed, pending, calledAtExit } = JSON.parse(run.stdout)
      expect(calledAtExit).toBe(0)
      expect([accepted, pending, delivered + failed]).toEqual([15, 0, 15])
      expect(linesAboutLoss(run).length).toBeLessThanOrEqual(1)
    },
  )
}

row(
  'F83',
  'SIGTERM, SIGINT or SIGHUP with 50 queued, no handler; SIGTERM, and a handler of the host that closes the client',
  'the process dies by the signal, as without the SDK; with the handler, 50 of 50 are delivered',
  async (row) => {
    const end = async (signal: NodeJS.Signals, isHandled: boolean) => {
      const server = await serve()
      const run = await runHost(
        {
          host: server.url,
          settings: { flushAt: 1_000 },
          args: { signal, isHandled },
          onStart: (child) => child.stdout?.once('data', () => child.kill(signal)),
        },
        async (t) => {
          const client = t.create()
          for (let n = 0; n < 50; n++) t.track(client, n)
          const done = new Promise<void>((resolve) => {
            if (t.args.isHandled)
              process.once(t.args.signal, () => void t.close(client).then(() => resolve()))
          })
          // A signal listener does not keep the process alive: without this timer, it could end before the signal.
          const alive = setTimeout(() => {}, 10_000)
          process.stdout.write('ready')
          await done
          clearTimeout(alive)
          process.exitCode = 7
        },
      )
      row.injected(1, 4)
      return { run, server }
    }
    const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

    const runs = await Promise.all(signals.map((signal) => end(signal, false)))
    const { run, server } = await end('SIGTERM', true)

    expect(runs.map(({ run }) => [run.signal, run.exitCode])).toEqual(signals.map((signal) => [signal, null]))
    const report = expectOracleRules(run, [await server.report()], { exitCode: 7 })
    expect(report.byOutcome).toEqual({ delivered: 50 })
  },
)

for (const isInFlight of [true, false]) {
  row(
    'F79',
    `a close of 20 s during a 429 whose wait is a minute, ${isInFlight ? 'with' : 'without'} another request in flight`,
    'ends as soon as nothing is in flight; what the service accepts meanwhile is delivered',
    async (row) => {
      const server = await serve({
        state: { isInFlight },
        script: async (request, io) => {
          if (request.index === 0 && io.state['isInFlight'] === true) {
            // Accepted after the other request has been limited.
            while (io.state['isLimited'] !== true) await io.sleep(5)
            await io.sleep(200)
            return io.reply(200)
          }
          io.count('limited')
          io.state['isLimited'] = true
          io.reply(429, { 'retry-after': '60' })
        },
      })

      const run = await runHost({ host: server.url, settings: { flushAt: 10 } }, async (t) => {
        const client = t.create()
        for (let n = 0; n < 10; n++) t.track(client, n)
        await t.turn()
        for (let n = 10; n < 20; n++) t.track(client, n)
        await t.turn()
        await t.close(client, { timeout: 20_000 })
      })

      const ledger = await server.report()
      const report = expectOracleRules(run, [ledger], { failures: ['shutdown_timeout'] })
      row.injected(ledger.counts['limited'] ?? 0)
      expect(report.byOutcome).toEqual(
        isInFlight ? { delivered: 10, shutdown_timeout: 10 } : { shutdown_timeout: 20 },
      )
      // The wait is longer than the close, so that its timeout is not awaited.
      expect(waitsOf(report, 'fired').filter((ms) => ms >= 10_000)).toEqual([])
    },
  )
}

for (const fault of ['an uncaught throw', 'an unhandled rejection']) {
  row(
    'F84',
    `${fault} of the host with 50 queued`,
    'exit code 1 and the error printed, as without the SDK',
    async (row) => {
      const server = await serve()

      const run = await runHost({ host: server.url, args: { fault } }, async (t) => {
        const client = t.create({ flushAt: 1_000 })
        for (let n = 0; n < 50; n++) t.track(client, n)
        setTimeout(() => {
          if (t.args.fault === 'an uncaught throw') throw new Error('the host fails')
          void Promise.reject(new Error('the host fails'))
        }, 50)
        await t.sleep(5_000)
      })

      row.injected(run.report?.uncaught.length ?? 0)
      expect(run.exitCode).toBe(1)
      expect(run.stderr).toContain('the host fails')
      expect(new Set(run.report?.addedListeners)).toEqual(new Set(['beforeExit', 'exit']))
    },
  )
}

row(
  'F18',
  'the host blocks its own event loop for longer than a request may take, with requests in flight',
  'responses that have arrived meanwhile count: nothing is sent again, 0 lost',
  async (row) => {
    const server = await serve({
      script: async (_request, io) => {
        await io.sleep(300)
        io.reply(200)
      },
    })

    const run = await runHost(
      { host: server.url, settings: { flushAt: 10, httpRequestTimeout: 1_500 } },
      async (t) => {
        const client = t.create()
        await t.trackAll(client, 0, 40, undefined, 10)
        // The requests are on their way.
        await t.sleep(100)
        const endMs = t.now() + 3_500
        while (t.now() < endMs) {}
        await t.close(client)
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger])
    row.injected(1)
    expect(report.byOutcome).toEqual({ delivered: 40 })
    // At most one extra attempt for each batch in flight.
    expect(ledger.requests.length).toBeLessThanOrEqual(8)
  },
)

row(
  'F85',
  'the host is suspended for 20 s (SIGSTOP) with requests in flight, then resumed',
  'timeouts count as transport errors, 0 lost',
  async (row) => {
    const server = await serve({
      script: async (_request, io) => {
        await io.sleep(50)
        io.reply(200)
      },
    })

    let stops = 0
    const run = await runHost(
      {
        host: server.url,
        scale: 20,
        settings: { flushAt: 20 },
        onStart: (child) =>
          child.stdout?.once('data', () => {
            stops++
            child.kill('SIGSTOP')
            setTimeout(() => child.kill('SIGCONT'), 1_000)
          }),
      },
      async (t) => {
        const client = t.create()
        await t.trackAll(client, 0, 500, undefined, 50)
        process.stdout.write('ready')
        await t.trackFor(client, 500, 1_000, 1_000)
        await client.flush()
        await t.close(client)
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger])
    row.injected(stops)
    expect(report.byOutcome).toEqual({ delivered: 1_000 })
  },
)

row(
  'F87',
  'import and constructor, no event',
  '0 requests, 0 sockets, 0 timers, and the process ends',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url }, async (t) => {
      const clients = [t.create(), t.create(), t.create()]
      await t.turn()
      return { resources: process.getActiveResourcesInfo(), clients: clients.length }
    })

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger], { unclosed: true })
    row.injected(3)
    expect(ledger.connections).toBe(0)
    expect((report.result as { resources: string[] }).resources).not.toContain('Timeout')
    expect(report.timers).toEqual([])
  },
)
