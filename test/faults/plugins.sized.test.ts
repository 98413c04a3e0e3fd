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
import { elsewhere, row } from './harness/row.ts'

row(
  'F101',
  'plugins of four types that throw, reject, throw null, or throw an object that throws when it is read',
  'with a before plugin the event fails with `plugin`, with the others it is delivered; one report each; the host is unaffected',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url }, async (t) => {
      const table: { type: string; how: string; outcomes: string[]; errors: number }[] = []
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
      const ways: Record<string, () => unknown> = {
        throws: () => {
          throw new Error('in a plugin')
        },
        rejects: () => Promise.reject(new Error('in a plugin')),
        'throws null': () => {
          throw null
        },
        'rejects with nothing': () => Promise.reject(),
        'throws an object that throws': () => {
          throw hostile()
        },
        'rejects with an object that throws': () => Promise.reject(hostile()),
        'returns a hostile thenable': () => hostile(),
      }
      let n = 0
      for (const type of ['before', 'enrichment', 'destination', 'after'] as const) {
        for (const [how, act] of Object.entries(ways)) {
          const client = t.create()
          let errors = 0
          const count = (): void => {
            errors++
          }
          client.on('error', count).on('warning', count)
          const bad = n + 1
          await client.register({
            name: 'Bad',
            type,
            isLoaded: () => true,
            load: () => undefined,
            track: (ctx) => (ctx.event.properties?.['n'] === bad ? (act() as never) : ctx),
          })
          for (const at of [n, n + 1, n + 2]) t.track(client, at)
          await client.flush()
          await t.turn()
          table.push({ type, how, outcomes: [n, n + 1, n + 2].map(t.outcome), errors })
          n += 3
          await t.close(client)
        }
      }
      return table
    })

    const report = reportOf(run)
    expectHealthyHost(run)
    expect(report.thrown).toBeUndefined()
    const table = report.result as { type: string; how: string; outcomes: string[]; errors: number }[]
    row.injected(table.length, 28)
    for (const { type, how, outcomes, errors } of table) {
      const middle = type === 'before' ? 'plugin' : 'delivered'
      expect({ type, how, outcomes, errors }).toEqual({
        type,
        how,
        outcomes: ['delivered', middle, 'delivered'],
        errors: 1,
      })
    }
    expect((await server.report()).violations).toEqual([])
  },
)

for (const type of ['before', 'enrichment'] as const) {
  row(
    'F102',
    `a ${type} plugin that never settles for one event in ten`,
    'given up after 5 s; the other events are not delayed',
    async (row) => {
      const events = size(300, 1_000)
      const server = await serve()

      const run = await runHost({ host: server.url, args: { type, events } }, async (t) => {
        const client = t.create()
        client.on('warning', () => {})
        // Holds back the timers of 5 s, the time limit of plugins, until the other events are delivered: the machine
        // may be slow.
        const letRun = t.holdBack(5_000)
        let hung = 0
        await client.register({
          name: 'Hangs',
          type: t.args.type,
          isLoaded: () => true,
          load: () => undefined,
          track: (ctx) => {
            if (Number(ctx.event.properties?.['n']) % 10 !== 0) return ctx
            hung++
            return new Promise(() => {})
          },
        })
        await t.trackAll(client, 0, t.args.events)
        await t.until(() => t.countOf('delivered') >= t.args.events * 0.9, 30_000)
        const early = t.countOf('delivered')
        const open = client.stats.pending
        letRun()
        await client.flush()
        await t.close(client)
        return { hung, early, open }
      })

      const report = expectOracleRules(run, [await server.report()], {
        failures: type === 'before' ? ['plugin'] : [],
        otherCalls: true,
      })
      const { hung, ...counts } = report.result as { hung: number }
      row.injected(hung, events / 10)
      expect(waitsOf(report, 'fired').filter((ms) => ms === 5_000)).toHaveLength(hung)
      expect(counts).toEqual({ early: events - hung, open: hung })
      const lost = type === 'before' ? hung : 0
      expect(report.stats).toMatchObject({ delivered: events - lost, failed: lost })
    },
  )
}

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
  'F104',
  'plugins that return nonsense, or change the event into something impossible',
  'the original event goes on, or fails with a reason; sizes and ids are checked again',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url, settings: { maxRetries: 0 } }, async (t) => {
      // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
      type Act = (ctx: any) => any
      const changing =
        (change: Act): Act =>
        (ctx) => {
          change(ctx)
          return ctx
        }
      const throwing = {
        get: () => {
          throw new Error('x')
        },
        enumerable: true,
      }
      const acts: [string, Act, string][] = [
        ['undefined', () => undefined, 'delivered'],
        ['5', () => 5, 'fails closed'],
        ['null', () => null, 'fails closed'],
        ['false', async () => false, 'fails closed'],
        ['half a context', () => ({ event: { type: 'track' } }), 'fails closed'],
        ['a promise of 5', async () => 5, 'fails closed'],
        ['another event', (ctx) => ({ ...ctx.event, properties: { changed: true } }), 'delivered'],
        [
          'an event that has another type',
          () => ({ type: 'track', event: 'Other', userId: 'u' }),
          'delivered',
        ],
        ['frozen', changing(({ event }) => Object.freeze(event)), 'delivered'],
        [
          '1 MB added',
          changing((ctx) => ctx.updateEvent('properties.fat', 'x'.repeat(1_000_000))),
          'too_large',
        ],
        [
          'messageId changed',
          changing(({ event }) => Object.assign(event, { messageId: `changed-${Math.random()}` })),
          'delivered',
        ],
        [
          'messageId of 100',
          changing(({ event }) => Object.assign(event, { messageId: 'm'.repeat(100) })),
          'invalid',
        ],
        ['messageId removed', changing(({ event }) => Reflect.deleteProperty(event, 'messageId')), 'invalid'],
        ['type removed', changing(({ event }) => Reflect.deleteProperty(event, 'type')), 'delivered'],
        ['type changed', changing(({ event }) => Object.assign(event, { type: 'alias' })), 'delivered'],
        [
          'a cycle',
          changing(({ event: { context } }) => Object.assign(context, { self: context })),
          'delivered',
        ],
        ['a BigInt', changing(({ event }) => Object.assign(event.context, { big: 1n })), 'delivered'],
        ['event null', changing((ctx) => Object.assign(ctx, { event: null })), 'fails closed'],
        ['event a text', changing((ctx) => Object.assign(ctx, { event: 'text' })), 'fails closed'],
        [
          'a getter that throws',
          changing(({ event }) => Object.defineProperty(event, 'bad', throwing)),
          'plugin',
        ],
      ]
      const table: { name: string; outcome: string; expected: string }[] = []
      let n = 0
      for (const [name, act, expected] of acts) {
        for (const type of ['before', 'enrichment'] as const) {
          const client = t.create()
          client.on('warning', () => {})
          await client.register({
            name: 'Odd',
            type,
            isLoaded: () => true,
            load: () => undefined,
            track: (ctx) => (ctx.event?.properties?.['n'] === undefined ? act(ctx) : ctx),
          })
          let outcome = 'none'
          t.track(client, n++)
          client.track({ userId: 'u', event: 'Odd' }, (error) => {
            outcome = error?.code ?? 'delivered'
          })
          t.track(client, n++)
          await client.flush()
          await t.close(client)
          // A before plugin that fails makes the event fail. A failing plugin of another type is skipped.
          const failed = type === 'before' ? 'plugin' : 'delivered'
          table.push({
            name: `${name} (${type})`,
            outcome,
            expected: expected === 'fails closed' ? failed : expected,
          })
        }
      }
      return table
    })

    const report = reportOf(run)
    expectHealthyHost(run)
    expect(report.thrown).toBeUndefined()
    const table = report.result as { name: string; outcome: string; expected: string }[]
    row.injected(table.length, 40)
    const wrong = table.filter(({ outcome, expected }) => outcome !== expected)
    expect(wrong).toEqual([])
    expect(report.byOutcome).toEqual({ delivered: table.length * 2 })
    expect((await server.report()).violations.filter((text) => !text.startsWith('messageId'))).toEqual([])
  },
)

row(
  'F105',
  'a plugin that tracks for each event, flushes, deregisters itself, closes',
  'a plugin may track a second event while it handles one, but no third; no deadlock, no stack overflow',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url, limitMs: 20_000 }, async (t) => {
      const results: Record<string, string> = {}
      const acts = {
        // biome-ignore lint/suspicious/noExplicitAny: the client as a plugin gets it
        tracks: (client: any) => client.track({ userId: 'u', event: 'From a plugin' }),
        // biome-ignore lint/suspicious/noExplicitAny: as above
        flushes: (client: any) => void client.flush(),
        // biome-ignore lint/suspicious/noExplicitAny: as above
        'awaits flush': (client: any) => client.flush(),
        // biome-ignore lint/suspicious/noExplicitAny: as above
        deregisters: (client: any) => client.deregister('Busy'),
        // biome-ignore lint/suspicious/noExplicitAny: as above
        'awaits close': (client: any) => client.closeAndFlush(),
        // biome-ignore lint/suspicious/noExplicitAny: as above
        'awaits close later': (client: any) => Promise.resolve().then(() => client.closeAndFlush()),
      }
      for (const [name, act] of Object.entries(acts)) {
        const client = t.create()
        client.on('warning', () => {})
        await client.register({
          name: 'Busy',
          type: 'before',
          isLoaded: () => true,
          load: () => undefined,
          track: async (ctx) => {
            if (name !== 'tracks') await act(client)
            else act(client)
            return ctx
          },
        })
        for (let count = 0; count < 5; count++) client.track({ userId: 'u', event: 'Recursive' })
        let isFlushed = false
        void client.flush().then(() => {
          isFlushed = true
        })
        await t.until(() => isFlushed && client.stats.pending === 0, 7_000)
        const { accepted, delivered, failed, pending, failures } = client.stats
        results[name] = `${accepted} ${delivered} ${failed} ${pending} ${failures.plugin}`
        await t.close(client, { timeout: 500 })
      }
      return results
    })

    const report = reportOf(run)
    expectHealthyHost(run)
    row.injected(6)
    const results = report.result as Record<string, string>
    const [accepted = 0, delivered = 0, , pending = 0] = (results['tracks'] ?? '').split(' ').map(Number)
    // For each of the five events, the plugin tracks a second event, and for that one a third, which is refused.
    expect(pending).toBe(0)
    expect(accepted).toBeLessThanOrEqual(5 * 3)
    expect(delivered).toBeGreaterThanOrEqual(5)
    // A plugin that waits for its own event is stopped after 5 s, and the event fails.
    expect(results['awaits close later']).toBe('5 0 5 0 5')
    for (const name of ['flushes', 'awaits flush', 'deregisters', 'awaits close']) {
      expect([name, results[name]]).toEqual([name, '5 5 0 0 0'])
    }
    row.note(JSON.stringify(results))
  },
)

row(
  'F106',
  'load that rejects, hangs, throws; a value that is not a plugin',
  'events wait at most 5 s for a load, then the plugin is left out and reported',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url, scale: 10 }, async (t) => {
      const table: { how: string; errors: number }[] = []
      let n = 0
      // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
      const plugins: Record<string, any> = {
        rejects: { load: () => Promise.reject(new Error('x')) },
        hangs: { load: () => new Promise(() => {}) },
        throws: {
          load: () => {
            throw new Error('x')
          },
        },
        'throws null': {
          load: () => {
            throw null
          },
        },
        'ready rejects': { load: () => undefined, ready: () => Promise.reject(new Error('x')) },
        'has no type': { type: 'nonsense' },
        'is null': null,
        'is a number': 5,
      }
      for (const [how, plugin] of Object.entries(plugins)) {
        const client = t.create()
        client.on('warning', () => {})
        let errors = 0
        client.on('warning', () => {
          errors++
        })
        let seen = 0
        const whole =
          typeof plugin === 'object' && plugin !== null
            ? {
                name: 'Unready',
                type: 'before',
                isLoaded: () => true,
                load: () => undefined,
                track: () => {
                  seen++
                },
                ...plugin,
              }
            : plugin
        void client.register(whole)
        t.track(client, n++)
        t.track(client, n++)
        await client.flush()
        table.push({ how, errors: errors + seen })
        await t.close(client)
      }
      return table
    })

    const report = reportOf(run)
    expectHealthyHost(run)
    const table = report.result as { how: string; errors: number }[]
    row.injected(table.length, 8)
    expect(report.byOutcome).toEqual({ delivered: 16 })
    for (const { how, errors } of table) expect({ how, errors }).toEqual({ how, errors: 1 })
    // Events wait only for the plugin that hangs, and only once.
    expect(waitsOf(report, 'fired')).toEqual([5_000])
  },
)

row('F107', '50 plugins with random delays', 'the same order for every event', async (row) => {
  const server = await serve()

  const run = await runHost({ host: server.url }, async (t) => {
    const client = t.create()
    client.on('warning', () => {})
    const orders = new Map<number, number[]>()
    await client.register(
      ...Array.from({ length: 50 }, (_, index) => ({
        name: `Plugin ${index}`,
        type: index % 2 === 0 ? ('enrichment' as const) : ('before' as const),
        isLoaded: () => true,
        load: () => (index % 3 === 0 ? t.sleep(Math.random() * 20) : undefined),
        // biome-ignore lint/suspicious/noExplicitAny: the context
        track: async (ctx: any) => {
          if (index % 5 === 0) await t.sleep(Math.random() * 5)
          const n = ctx.event.properties.n
          orders.set(n, [...(orders.get(n) ?? []), index])
          return ctx
        },
      })),
    )
    await t.trackAll(client, 0, 40)
    await client.flush()
    await t.close(client)
    return [...new Set([...orders.values()].map(String))]
  })

  const report = expectOracleRules(run, [await server.report()])
  row.injected(50 * 40)
  const odd = Array.from({ length: 25 }, (_, index) => index * 2 + 1)
  const even = Array.from({ length: 25 }, (_, index) => index * 2)
  expect(report.result).toEqual([[...odd, ...even].join()])
})

row(
  'F108',
  'listeners and callbacks that throw, reject or remove themselves; 10,000 of them; error without a listener',
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

elsewhere('F109', 'a logger that throws, rejects, or returns an object that throws', {
  file: 'test/runtime/log.test.ts',
  test: 'losses become process warnings, and its failure is reported once',
})
