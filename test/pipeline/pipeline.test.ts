import { describe, expect, test } from 'vitest'
import type { DeliveryError } from '../../src/errors/errors.ts'
import { KINDS } from '../../src/message/types.ts'
import { Context, type ContextEvent } from '../../src/pipeline/context.ts'
import { Pipeline } from '../../src/pipeline/pipeline.ts'
import type { Plugin, PluginHost, PluginType } from '../../src/pipeline/plugin.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

interface Report {
  readonly error: DeliveryError
  readonly ctx: Context | undefined
}

function setUp() {
  const clock = new FakeClock()
  const reports: Report[] = []
  const client = { VERSION: '0.1.0' } as PluginHost
  const pipeline = new Pipeline({ clock, client, report: (error, ctx) => reports.push({ error, ctx }) })
  /** Runs one event, and notes how the front of the pipeline ended. */
  const run = (ctx = createContext()) => {
    const ends: (DeliveryError | undefined)[] = []
    const isDone = pipeline.run('track', ctx, (error) => ends.push(error))
    return { ctx, ends, isDone }
  }
  return { clock, pipeline, reports, client, run }
}

function createContext(integrations: ContextEvent['integrations'] = {}): Context {
  return new Context({
    type: 'track',
    messageId: 'commande-17',
    timestamp: new Date('2026-11-20T09:30:00Z'),
    event: 'Commande passée',
    properties: {},
    context: { library: { name: 'trackpost', version: '0.1.0' } },
    integrations,
    _metadata: { jsRuntime: 'node' },
  } as ContextEvent)
}

function createPlugin(name: string, type: PluginType, more: Partial<Plugin> = {}): Plugin {
  return { name, type, isLoaded: () => true, load() {}, ...more }
}

/** A plugin that writes its name down for each event. */
function createScribe(name: string, type: PluginType, order: string[], more: Partial<Plugin> = {}): Plugin {
  return createPlugin(name, type, {
    track: (ctx) => {
      order.push(name)
      return ctx
    },
    ...more,
  })
}

function deferred(): { promise: Promise<undefined>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<undefined>((done) => {
    resolve = () => done(undefined)
  })
  return { promise, resolve }
}

failOnUnhandledRejections()

describe('the order', () => {
  test('types run in theirs, and plugins of one type in the order of their registration', async () => {
    const { pipeline, run } = setUp()
    const order: string[] = []
    for (const type of ['after', 'destination', 'enrichment', 'before'] as const) {
      await pipeline.register(createScribe(`${type} 1`, type, order))
      await pipeline.register(createScribe(`${type} 2`, type, order))
    }

    const { ctx } = run()
    pipeline.distribute('track', ctx)
    pipeline.conclude('track', ctx)

    expect(order).toEqual([
      'before 1',
      'before 2',
      'enrichment 1',
      'enrichment 2',
      'destination 1',
      'destination 2',
      'after 1',
      'after 2',
    ])
  })

  // Row F107.
  test('asynchronous plugins of any speed keep it', async () => {
    const { clock, pipeline, run } = setUp()
    const order: string[] = []
    for (let number = 1; number <= 20; number++) {
      await pipeline.register(
        createPlugin(`plugin ${number}`, number % 2 === 0 ? 'enrichment' : 'before', {
          track: (ctx) =>
            new Promise((resolve) => {
              clock.setTimer(
                () => {
                  order.push(`plugin ${number}`)
                  resolve(ctx)
                },
                Math.floor(clock.random() * 50),
              )
            }),
        }),
      )
    }

    const { ends } = run()
    await clock.advance(2_000)

    const odd = Array.from({ length: 10 }, (_, index) => `plugin ${index * 2 + 1}`)
    const even = Array.from({ length: 10 }, (_, index) => `plugin ${index * 2 + 2}`)
    expect(order).toEqual([...odd, ...even])
    expect(ends).toEqual([undefined])
  })

  test('a utility plugin is loaded and takes no part', async () => {
    const { pipeline, run } = setUp()
    const order: string[] = []
    await pipeline.register(createScribe('outil', 'utility', order, { load: () => order.push('loaded') }))

    const { ctx } = run()
    pipeline.distribute('track', ctx)
    pipeline.conclude('track', ctx)

    expect(order).toEqual(['loaded'])
    expect(pipeline.concerns('track')).toBe(false)
  })
})

describe('synchronous plugins', () => {
  test('the front is through within the call, without a timer', async () => {
    const { clock, pipeline, run } = setUp()
    await pipeline.register(createScribe('a', 'before', []))

    const { isDone, ends } = run()

    expect(isDone).toBe(true)
    expect(ends).toEqual([undefined])
    expect(clock.timerCount).toBe(0)
  })

  test('without plugins nobody is concerned', () => {
    const { pipeline } = setUp()

    for (const kind of KINDS) expect(pipeline.concerns(kind)).toBe(false)
  })

  test('a plugin concerns the kinds that it handles', async () => {
    const { pipeline } = setUp()
    await pipeline.register(createPlugin('a', 'destination', { page: (ctx) => ctx }))

    expect(KINDS.filter((kind) => pipeline.concerns(kind))).toEqual(['page'])
  })

  test('a plugin that says that it is not loaded is passed over', async () => {
    const { pipeline, run } = setUp()
    const order: string[] = []
    await pipeline.register(createScribe('a', 'before', order, { isLoaded: () => false }))

    run()

    expect(order).toEqual([])
  })

  test.each([undefined, null, 5, 'x', {}, new Date(), Object.freeze({ event: {} })])(
    'a handler that returns %s leaves the event as it is',
    async (value) => {
      const { pipeline, run } = setUp()
      await pipeline.register(createPlugin('a', 'before', { track: () => value as never }))

      const { ctx, ends } = run()

      expect(ends).toEqual([undefined])
      expect(ctx.event.event).toBe('Commande passée')
    },
  )
})

// Row F101.
describe('plugins that fail', () => {
  const throwing = new Proxy(
    {},
    {
      get() {
        throw new Error('non')
      },
    },
  )
  const failures: [string, () => never | Promise<never>][] = [
    [
      'throws an error',
      () => {
        throw new Error('base fermée')
      },
    ],
    [
      'throws null',
      () => {
        throw null
      },
    ],
    [
      'throws an object that throws',
      () => {
        throw throwing
      },
    ],
    ['rejects', () => Promise.reject(new Error('base fermée'))],
    ['rejects with undefined', () => Promise.reject(undefined)],
  ]

  test.each(failures)('a before plugin that %s costs the event, with plugin', async (_label, fail) => {
    const { pipeline, reports, run } = setUp()
    const order: string[] = []
    await pipeline.register(createPlugin('filtre', 'before', { track: fail }))
    await pipeline.register(createScribe('next', 'before', order))

    const { ends } = run()
    await settled()

    expect(ends).toEqual([expect.objectContaining({ code: 'plugin' })])
    expect(ends[0]?.message).toMatch(/^the plugin 'filtre' failed: /)
    expect(order).toEqual([])
    expect(reports).toEqual([])
  })

  test.each(failures)('an enrichment plugin that %s is reported once and skipped', async (_label, fail) => {
    const { pipeline, reports, run } = setUp()
    const order: string[] = []
    await pipeline.register(createPlugin('géo', 'enrichment', { track: fail }))
    await pipeline.register(createScribe('next', 'enrichment', order))

    const { ctx, ends } = run()
    await settled()

    expect(ends).toEqual([undefined])
    expect(order).toEqual(['next'])
    expect(reports).toEqual([{ error: expect.objectContaining({ code: 'plugin' }), ctx }])
    expect(reports[0]?.error.message).toMatch(/^the plugin 'géo' failed and was skipped: /)
  })

  test.each(
    failures.flatMap(([label, fail]) =>
      (['destination', 'after'] as const).map((type) => ({ label, fail, type })),
    ),
  )('$type: one that $label is reported once, and the others go on', async ({ fail, type }) => {
    const { pipeline, reports } = setUp()
    const order: string[] = []
    await pipeline.register(createPlugin('entrepôt', type, { track: fail }))
    await pipeline.register(createScribe('next', type, order))
    const ctx = createContext()

    await (type === 'after' ? pipeline.conclude('track', ctx) : pipeline.distribute('track', ctx))

    expect(order).toEqual(['next'])
    expect(reports).toEqual([{ error: expect.objectContaining({ code: 'plugin' }), ctx }])
  })

  test('a before plugin that cancels drops the event with its reason', async () => {
    const { pipeline, run } = setUp()
    await pipeline.register(createPlugin('filtre', 'before', { track: (ctx) => ctx.cancel('sans accord') }))

    const { ends } = run()

    expect(ends[0]?.message).toBe("the plugin 'filtre' dropped the event: sans accord")
  })

  test('alternative names that are no list harm nobody', async () => {
    const { pipeline } = setUp()
    const order: string[] = []
    await pipeline.register(createScribe('a', 'destination', order, { alternativeNames: 5 as never }))

    expect(() => pipeline.distribute('track', createContext({ All: true }))).not.toThrow()
  })
})

// Row F102.
describe('plugins that never settle', () => {
  const forever = (): Promise<never> => new Promise(() => {})

  test('a before plugin is given five seconds, and then the event fails', async () => {
    const { clock, pipeline, run } = setUp()
    await pipeline.register(createPlugin('filtre', 'before', { track: forever }))

    const { ends, isDone } = run()
    await clock.advance(4_999)
    expect(ends).toEqual([])
    await clock.advance(1)
    await settled()

    expect(isDone).toBe(false)
    expect(ends[0]?.message).toBe("the plugin 'filtre' failed: no answer within 5000 ms")
  })

  test('an enrichment plugin is skipped, and a later answer changes nothing', async () => {
    const { clock, pipeline, reports, run } = setUp()
    const answer = deferred()
    await pipeline.register(createPlugin('géo', 'enrichment', { track: () => answer.promise }))

    const { ends } = run()
    await clock.advance(5_000)
    answer.resolve()
    await settled()

    expect(ends).toEqual([undefined])
    expect(reports).toHaveLength(1)
    expect(clock.timerCount).toBe(0)
  })

  test('other events are not held up', async () => {
    const { pipeline, run } = setUp()
    let calls = 0
    await pipeline.register(
      createPlugin('filtre', 'before', { track: (ctx) => (calls++ === 0 ? forever() : ctx) }),
    )
    run()

    const others = Array.from({ length: 1_000 }, () => run())

    expect(others.every(({ isDone }) => isDone)).toBe(true)
  })

  test.each(['destination', 'after'] as const)(
    'a plugin of type %s is waited for no longer',
    async (type) => {
      const { clock, pipeline, reports } = setUp()
      await pipeline.register(createPlugin('entrepôt', type, { track: forever }))
      const ctx = createContext()
      let isOver = false

      const work = type === 'after' ? pipeline.conclude('track', ctx) : pipeline.distribute('track', ctx)
      void work?.then(() => {
        isOver = true
      })
      await clock.advance(5_000)
      await settled()

      expect(isOver).toBe(true)
      expect(reports).toHaveLength(1)
    },
  )
})

describe('destinations', () => {
  const matrix: [string, ContextEvent['integrations'], boolean][] = [
    ['nothing said', {}, true],
    ['All true', { All: true }, true],
    ['All false', { All: false }, false],
    ['All false and this one true', { All: false, Mixpanel: true }, true],
    ['All false and options for this one', { All: false, Mixpanel: { region: 'eu' } }, true],
    ['this one false', { Mixpanel: false }, false],
    ['All true and this one false', { All: true, Mixpanel: false }, false],
    ['another one false', { Amplitude: false }, true],
    ['All false and another one true', { All: false, Amplitude: true }, false],
    ['another case', { All: false, mixpanel: true }, false],
    ['all in small letters', { all: false } as never, true],
    ['an alternative name true', { All: false, 'Mixpanel (Actions)': true }, true],
    ['an alternative name false', { 'Mixpanel (Actions)': false }, false],
    ['undefined for this one', { All: false, Mixpanel: undefined }, false],
    ['null', null as never, true],
    ['a name of every object', { All: false, toString: true } as never, false],
  ]

  test.each(matrix)('with %s the destination is called: %3$s', async (_label, integrations, isCalled) => {
    const { pipeline } = setUp()
    const order: string[] = []
    const names = { alternativeNames: ['Mixpanel (Actions)', 'Mixpanel (Legacy)'] }
    await pipeline.register(createScribe('Mixpanel', 'destination', order, names))

    pipeline.distribute('track', createContext(integrations))

    expect(order).toEqual(isCalled ? ['Mixpanel'] : [])
  })

  test('integrations switch destinations only', async () => {
    const { pipeline, run } = setUp()
    const order: string[] = []
    await pipeline.register(createScribe('a', 'before', order))
    await pipeline.register(createScribe('b', 'after', order))
    const { ctx } = run(createContext({ All: false, a: false, b: false }))

    pipeline.conclude('track', ctx)

    expect(order).toEqual(['a', 'b'])
  })

  test('switches that throw when they are read switch nothing off', async () => {
    const { pipeline } = setUp()
    const order: string[] = []
    await pipeline.register(createScribe('warehouse', 'destination', order))
    const hostile = new Proxy(
      {},
      {
        getOwnPropertyDescriptor: () => {
          throw new Error('no')
        },
      },
    )

    pipeline.distribute('track', createContext(hostile))

    expect(order).toEqual(['warehouse'])
  })

  test('one that is still loading gets its events when it has loaded, and holds nothing else up', async () => {
    const { pipeline, run } = setUp()
    const order: string[] = []
    const loading = deferred()
    void pipeline.register(createScribe('lent', 'destination', order, { load: () => loading.promise }))

    const { ctx, isDone } = run()
    pipeline.distribute('track', ctx)
    await settled()
    expect(isDone).toBe(true)
    expect(order).toEqual([])
    loading.resolve()
    await settled()

    expect(order).toEqual(['lent'])
  })

  test('one that fails to load gets no events', async () => {
    const { pipeline, reports, run } = setUp()
    const order: string[] = []
    void pipeline.register(
      createScribe('lent', 'destination', order, { load: () => Promise.reject(new Error('non')) }),
    )

    const { ctx } = run()
    await pipeline.distribute('track', ctx)

    expect(order).toEqual([])
    expect(reports).toHaveLength(1)
  })
})

// Row F106.
describe('loading', () => {
  test('load is given a context and the client, and ready is awaited after it', async () => {
    const { pipeline, client } = setUp()
    const calls: unknown[] = []
    const plugin = createPlugin('a', 'before', {
      load: (ctx, analytics) => {
        calls.push(['load', ctx instanceof Context, analytics === client])
      },
      ready: async () => {
        calls.push(['ready', plugin === undefined])
      },
    })

    await pipeline.register(plugin)

    expect(calls).toEqual([
      ['load', true, true],
      ['ready', false],
    ])
  })

  test.each(['before', 'enrichment', 'after'] as const)(
    'events wait for a %s plugin to load, in their order',
    async (type) => {
      const { pipeline, run } = setUp()
      const loading = deferred()
      void pipeline.register(createPlugin('lent', type, { load: () => loading.promise, track: (ctx) => ctx }))
      const order: number[] = []

      for (const number of [1, 2, 3]) {
        expect(pipeline.concerns('track')).toBe(true)
        expect(pipeline.run('track', createContext(), () => order.push(number))).toBe(false)
      }
      await settled()
      expect(order).toEqual([])
      loading.resolve()
      await settled()

      expect(order).toEqual([1, 2, 3])
      expect(run().isDone).toBe(true)
    },
  )

  test('events wait for the last of several plugins that load', async () => {
    const { pipeline, run } = setUp()
    const first = deferred()
    const second = deferred()
    void pipeline.register(createPlugin('a', 'before', { load: () => first.promise, track: (ctx) => ctx }))
    void pipeline.register(createPlugin('b', 'after', { load: () => second.promise, track: (ctx) => ctx }))

    const { ends } = run()
    first.resolve()
    await settled()
    expect(ends).toEqual([])
    second.resolve()
    await settled()

    expect(ends).toEqual([undefined])
  })

  test('the events that waited go through the plugin', async () => {
    const { pipeline, run } = setUp()
    const loading = deferred()
    const order: string[] = []
    void pipeline.register(createScribe('lent', 'before', order, { load: () => loading.promise }))

    run()
    loading.resolve()
    await settled()

    expect(order).toEqual(['lent'])
  })

  const failures: [string, Partial<Plugin>][] = [
    [
      'whose load throws',
      {
        load() {
          throw new Error('non')
        },
      },
    ],
    ['whose load rejects', { load: () => Promise.reject(new Error('non')) }],
    ['whose load rejects with null', { load: () => Promise.reject(null) }],
    ['whose load hangs', { load: () => new Promise(() => {}) }],
    ['whose ready rejects', { ready: () => Promise.reject(new Error('non')) }],
    ['whose ready hangs', { ready: () => new Promise(() => {}) }],
    ['whose ready is no function', { ready: true as never }],
  ]
  test.each(failures)('a plugin %s is left out and reported, and events go on', async (_label, more) => {
    const { clock, pipeline, reports, run } = setUp()
    const order: string[] = []
    const registered = pipeline.register(createScribe('cassé', 'before', order, more))

    const { ends } = run()
    await clock.advance(5_000)
    await registered

    expect(ends).toEqual([undefined])
    expect(order).toEqual([])
    expect(reports).toHaveLength(1)
    expect(reports[0]?.error.message).toMatch(/^the plugin 'cassé' failed to load and was left out: /)
    expect(pipeline.concerns('track')).toBe(false)
    expect(clock.timerCount).toBe(0)
  })

  test('a plugin that was left out can be registered again', async () => {
    const { pipeline } = setUp()
    await pipeline.register(createPlugin('a', 'before', { load: () => Promise.reject(new Error('non')) }))

    await pipeline.register(createPlugin('a', 'before', { track: (ctx) => ctx }))

    expect(pipeline.concerns('track')).toBe(true)
  })

  const noPlugins: [string, unknown, string][] = [
    ['undefined', undefined, 'an object'],
    ['a function', () => {}, 'an object'],
    ['no name', { ...createPlugin('', 'before') }, 'a non-empty name'],
    ['no type', { ...createPlugin('a', 'before'), type: undefined }, 'one of the types'],
    ['an unknown type', { ...createPlugin('a', 'middle' as never) }, 'one of the types'],
    ['no load', { name: 'a', type: 'before', isLoaded: () => true }, 'load and isLoaded'],
    ['no isLoaded', { name: 'a', type: 'before', load() {} }, 'load and isLoaded'],
  ]
  test.each(noPlugins)('%s is no plugin', (_label, plugin, expected) => {
    const { pipeline } = setUp()

    expect(() => pipeline.register(plugin as Plugin)).toThrow(expected)
  })

  test('a second plugin of the same name is refused', async () => {
    const { pipeline } = setUp()
    await pipeline.register(createPlugin('a', 'before'))

    expect(() => pipeline.register(createPlugin('a', 'after'))).toThrow("there is one named 'a' already")
  })
})

describe('taking plugins out', () => {
  test('a plugin that is taken out gets no more events and is unloaded with the client', async () => {
    const { pipeline, client, run } = setUp()
    const order: string[] = []
    const unloaded: unknown[] = []
    await pipeline.register(
      createScribe('a', 'before', order, {
        unload: (ctx, analytics) => unloaded.push([ctx instanceof Context, analytics]),
      }),
    )

    await pipeline.deregister('a')
    run()

    expect(order).toEqual([])
    expect(unloaded).toEqual([[true, client]])
  })

  test('events do not wait for one that is taken out while it loads', async () => {
    const { pipeline, run } = setUp()
    void pipeline.register(createScribe('slow', 'before', [], { load: () => new Promise(() => {}) }))
    const { ends } = run()

    void pipeline.deregister('slow')

    expect(ends).toEqual([undefined])
  })

  test('a name that is not there is passed over', async () => {
    await expect(setUp().pipeline.deregister('absent')).resolves.toBeUndefined()
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('non')
      },
    ],
    ['rejects', () => Promise.reject(new Error('non'))],
  ])('an unload that %s is reported', async (_label, unload) => {
    const { pipeline, reports } = setUp()
    await pipeline.register(createPlugin('a', 'before', { unload }))

    await pipeline.deregister('a')

    expect(reports[0]?.error.message).toBe("the plugin 'a' failed to unload: non")
  })

  test('an event that is under way keeps the plugins that it set out with', async () => {
    const { pipeline, run } = setUp()
    const order: string[] = []
    const first = deferred()
    await pipeline.register(createPlugin('lent', 'before', { track: () => first.promise }))
    await pipeline.register(createScribe('next', 'before', order))

    run()
    await pipeline.deregister('next')
    first.resolve()
    await settled()

    expect(order).toEqual(['next'])
  })
})

// Row F105.
describe('tracking from inside a plugin', () => {
  test('an event tracked by a plugin goes through, and one that it would track for that one does not', async () => {
    const { pipeline, run } = setUp()
    const inner: ReturnType<typeof run>[] = []
    await pipeline.register(
      createPlugin('écho', 'before', {
        track: (ctx) => {
          inner.push(run())
          return ctx
        },
      }),
    )

    const { ends } = run()

    expect(ends).toEqual([undefined])
    expect(inner.map(({ ends }) => ends[0]?.code)).toEqual(['plugin', undefined])
  })

  test('the next event may be echoed again', async () => {
    const { pipeline, run } = setUp()
    let echoes = 0
    await pipeline.register(
      createPlugin('écho', 'before', {
        track: (ctx) => {
          if (run().ends[0] === undefined) echoes++
          return ctx
        },
      }),
    )

    run()
    run()

    expect(echoes).toBe(2)
  })
})

describe('abandoning', () => {
  test('no timer is left, whatever plugins are at', async () => {
    const { clock, pipeline, run } = setUp()
    const forever = (): Promise<never> => new Promise(() => {})
    await pipeline.register(createPlugin('a', 'before', { track: forever }))
    await pipeline.register(createPlugin('b', 'destination', { track: forever }))
    void pipeline.register(createPlugin('c', 'destination', { load: forever }))
    const { ctx } = run()
    void pipeline.distribute('track', ctx)

    pipeline.abandon()
    await settled()

    expect(clock.timerCount).toBe(0)
  })

  test('events that waited for a plugin to load go through no plugin afterwards', async () => {
    const { pipeline, run } = setUp()
    const order: string[] = []
    const loading = deferred()
    await pipeline.register(createScribe('prêt', 'before', order))
    void pipeline.register(createScribe('lent', 'before', order, { load: () => loading.promise }))
    const { ends } = run()

    pipeline.abandon()
    loading.resolve()
    await settled()

    expect(order).toEqual([])
    expect(ends).toEqual([])
  })
})
