/** Plugins, listeners and callbacks that misbehave. */
import { expect } from 'vitest'
import {
  expectHealthyHost,
  expectOracleRules,
  reportOf,
  runHost,
  serve,
  size,
  waitsOf,
} from './harness/lab.ts'
import { row } from './harness/row.ts'

row(
  'F101',
  'plugins of four types that throw, reject, return a hostile thenable or (F102) never settle',
  'with a before plugin the event fails with `plugin`, with the others it is delivered; one report each; the other events are not delayed',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url, settings: { flushAt: 1 } }, async (t) => {
      const hostile = (): unknown =>
        new Proxy(
          {},
          {
            get() {
              throw new Error('read')
            },
            getPrototypeOf() {
              throw new Error('asked')
            },
          },
        )
      const ways = [
        () => {
          throw new Error('in a plugin')
        },
        () => Promise.reject(new Error('in a plugin')),
        () => {
          throw null
        },
        () => Promise.reject(),
        () => {
          throw hostile()
        },
        () => Promise.reject(hostile()),
        () => hostile(),
        () => new Promise(() => {}),
      ]
      // Holds back the time limit of plugins until the other events are delivered: the machine may be slow.
      const letRun = t.holdBack(5_000)
      const types = ['before', 'enrichment', 'destination', 'after'] as const
      const reports = [0, 0, 0, 0]
      const clients = types.map((type, at) => {
        const client = t.create()
        const count = (): void => {
          reports[at] = (reports[at] ?? 0) + 1
        }
        client.on('error', count).on('warning', count)
        // Every second event is a bad one.
        const act = (n: number): unknown => (n % 2 === 0 ? undefined : ways[((n - 1) / 2) % ways.length]?.())
        void client.register({
          name: 'Bad',
          type,
          track: (ctx) => act(Number(ctx.event.properties?.['n'])) as never,
        })
        return client
      })
      const each = ways.length * 2
      await Promise.all(clients.map((client, at) => t.trackAll(client, at * each, (at + 1) * each)))
      // All but the two that are inside a plugin which never settles, and those that a before plugin has lost.
      const isEarly = await t.until(() => t.countOf('delivered') >= each * 4 - ways.length - 1, 30_000)
      letRun()
      await Promise.all(clients.map((client) => client.flush()))
      await Promise.all(clients.map((client) => t.close(client)))
      return { isEarly, reports, lost: clients.map(({ stats }) => stats.failures.plugin) }
    })

    const report = expectOracleRules(run, [await server.report()], { failures: ['plugin'] })
    row.injected(32)
    expect(report.result).toEqual({ isEarly: true, reports: [8, 8, 8, 8], lost: [8, 0, 0, 0] })
    expect(waitsOf(report, 'fired').filter((ms) => ms === 5_000)).toHaveLength(4)
  },
)

row(
  'F103',
  'a plugin that awaits 10 ms on each event, and one that blocks 2 s once',
  'no series of timeouts; all delivered; memory bounded',
  async (row) => {
    const events = size(1_000, 10_000)
    const server = await serve()

    const run = await runHost(
      { host: server.url, args: { events }, settings: { httpRequestTimeout: 1_000 } },
      async (t) => {
        const client = t.create()
        client.on('warning', () => {})
        let blocked = 0
        await client.register(
          {
            name: 'Slow',
            type: 'enrichment',
            isLoaded: () => true,
            load: () => undefined,
            track: async (ctx) => {
              await t.sleep(10)
              return ctx
            },
          },
          {
            name: 'Blocks',
            type: 'enrichment',
            isLoaded: () => true,
            load: () => undefined,
            track: (ctx) => {
              if (ctx.event.properties?.['n'] === 100) {
                blocked++
                const endMs = t.now() + 2_000
                while (t.now() < endMs);
              }
              return ctx
            },
          },
        )
        await t.trackAll(client, 0, t.args.events)
        await client.flush()
        await t.close(client)
        return blocked
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger])
    row.injected(events + Number(report.result))
    expect(report.byOutcome).toEqual({ delivered: events })
    expect(ledger.requests.every(({ isOrdered }) => isOrdered)).toBe(true)
    expect((report.rssMaxBytes - report.rssStartBytes) / 1_048_576).toBeLessThan(128)
  },
)

row(
  'F108',
  'listeners and callbacks that throw, reject or remove themselves; 10,000 of them; S27: error without a listener',
  'the pipeline is not affected, and nothing is thrown',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url }, async (t) => {
      const client = t.create()
      let heard = 0
      const removing = (): void => {
        heard++
        client.off('track', removing)
      }
      client.on('track', removing)
      client.on('track', () => {
        throw new Error('in a listener')
      })
      client.on('track', () => Promise.reject(new Error('in a listener')))
      client.on('track', () => {
        throw null
      })
      client.on('http_request', () => {
        throw new Error('in a listener')
      })
      client.on('http_response', () => {
        throw new Error('in a listener')
      })
      client.on('drained', () => {
        throw new Error('in a listener')
      })
      for (let count = 0; count < 10_000; count++)
        client.on('track', () => {
          heard++
        })
      t.track(client, 0)
      await client.flush()
      client.removeAllListeners('track')
      const quiet = new t.pkg.Analytics({ ...t.settings, maxQueueSize: 1 } as never)
      // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
      for (let count = 0; count < 1_000; count++) quiet.track(undefined as any)
      // A callback tracks again, 2,000 times: nested calls would overflow the stack.
      let depth = 0
      const deeper = (): void => {
        // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
        if (depth++ < 2_000) quiet.track(undefined as any, deeper)
      }
      deeper()
      await t.until(() => depth > 2_000, 40_000)
      await quiet.closeAndFlush()
      await t.close(client)
      return { heard, depth, quiet: quiet.stats.failures.invalid }
    })

    const report = reportOf(run)
    expectHealthyHost(run, { warnings: ['TRACKPOST_USER_CODE', 'TRACKPOST_INVALID'] })
    row.injected(13_000)
    expect(report.result).toEqual({ heard: 10_001, depth: 2_001, quiet: 3_000 })
    expect(report.warnings.filter(({ code }) => code === 'TRACKPOST_INVALID')).toHaveLength(1)
    expect(report.byOutcome).toEqual({ delivered: 1 })
    row.note('one warning for 1,000 losses without a listener')
  },
)
