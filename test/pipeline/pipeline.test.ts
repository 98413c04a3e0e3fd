import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test } from 'vitest'
import type { DeliveryError } from '../../src/errors/errors.ts'
import { Context, type ContextEvent } from '../../src/pipeline/context.ts'
import type { PluginFailure } from '../../src/pipeline/handler-result.ts'
import { type Passage, Pipeline } from '../../src/pipeline/pipeline.ts'
import type { Plugin, PluginHost, PluginType } from '../../src/pipeline/plugin.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import table from '../support/integrations-table.json' with { type: 'json' }
import { failOnUnhandledRejections } from '../support/unhandled.ts'

const EVENT = { kind: 'track', depth: 0 } as const
const passed = Promise.resolve()

function setUp(clock: Clock = new FakeClock()) {
  const reports: PluginFailure[] = []
  const client = { VERSION: '0.1.0' } as PluginHost
  const pipeline = new Pipeline(clock, client, (failure) => void reports.push(failure))
  /** Runs one event through the before and enrichment plugins, and records the result. */
  const run = (ctx = createContext()) => {
    const ends: (DeliveryError | undefined)[] = []
    const contexts: Context[] = []
    const passage = pipeline.enter(EVENT, ctx, (error, next) => {
      ends.push(error)
      contexts.push(next)
    })
    pipeline.run(passage)
    return { ctx, ends, contexts, isDone: ends.length > 0 }
  }
  return { clock: clock as FakeClock, pipeline, reports, client, run }
}

function distribute(pipeline: Pipeline, ctx: Context): Promise<unknown> | undefined {
  return pipeline.distribute(enter(pipeline, ctx), ctx)
}

function conclude(pipeline: Pipeline, ctx: Context): Promise<unknown> | undefined {
  return pipeline.conclude(enter(pipeline, ctx), ctx)
}

/** An event that has left its `before` and `enrichment` plugins. */
function enter(pipeline: Pipeline, ctx: Context): Passage {
  const event = { ...EVENT }
  const passage = pipeline.enter(event, ctx, () => {})
  pipeline.abandon([event])
  return passage
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
  return { name, type, ...more }
}

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
  test('of plugins is by type, and within a type by registration', async () => {
    const { pipeline, run } = setUp()
    const order: string[] = []
    for (const type of ['utility', 'after', 'destination', 'enrichment', 'before'] as const) {
      await pipeline.register(createScribe(`${type} 1`, type, order))
      await pipeline.register(createScribe(`${type} 2`, type, order))
    }

    const { ctx } = run()
    distribute(pipeline, ctx)
    conclude(pipeline, ctx)

    expect(order).toEqual([
      'before 1',
      'before 2',
      'enrichment 1',
      'enrichment 2',
      'destination 1',
      'destination 2',
      'after 1',
      'after 2',
      'utility 1',
      'utility 2',
    ])
  })

  test('lets plugins of type utility wait for asynchronous plugins of type after, and lets a flush wait for both', async () => {
    const { pipeline } = setUp()
    const order: string[] = []
    const answer = deferred()
    await pipeline.register(createPlugin('bilan', 'after', { track: () => answer.promise }))
    await pipeline.register(createScribe('outil', 'utility', order))

    const work = conclude(pipeline, createContext())
    await settled()
    expect(order).toEqual([])
    answer.resolve()
    await work

    expect(order).toEqual(['outil'])
  })

  test('F107: is kept by 50 asynchronous plugins of any speed', async () => {
    const { clock, pipeline, run } = setUp()
    const order: string[] = []
    for (let number = 1; number <= 50; number++) {
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
    await clock.advance(2_500)

    const odd = Array.from({ length: 25 }, (_, index) => `plugin ${index * 2 + 1}`)
    const even = Array.from({ length: 25 }, (_, index) => `plugin ${index * 2 + 2}`)
    expect(order).toEqual([...odd, ...even])
    expect(ends).toEqual([undefined])
  })
})

describe('synchronous plugins', () => {
  test('before and enrichment plugins run within the call, without a timer', async () => {
    const { clock, pipeline, run } = setUp()
    await pipeline.register(createScribe('a', 'before', []))

    const { isDone, ends } = run()

    expect(isDone).toBe(true)
    expect(ends).toEqual([undefined])
    expect(clock.timerCount).toBe(0)
  })

  test('a plugin that says that it is not loaded is skipped', async () => {
    const { pipeline, run } = setUp()
    const order: string[] = []
    await pipeline.register(createScribe('a', 'before', order, { isLoaded: () => false }))
    await pipeline.register(createScribe('b', 'before', order, { isLoaded: () => true }))

    run()

    expect(order).toEqual(['b'])
  })
})

describe('the return value of a handler', () => {
  const nonsense: [unknown, string][] = [
    [5, 'a number'],
    ['x', 'a string'],
    [true, 'a boolean'],
    [{}, 'an object'],
    [[], 'an array'],
    [new Date(), 'a Date'],
    [Object.freeze({ event: {} }), 'an object'],
    [{ event: { type: 'track' } }, 'an object'],
    [{ type: 'purchase' }, 'an object'],
  ]
  // From a before plugin, these drop the event.
  const drops: [unknown, string][] = [
    [null, 'null'],
    [false, 'a boolean'],
  ]
  const ways: [string, (value: unknown) => unknown][] = [
    ['returns', (value) => value],
    ['resolves to', (value) => Promise.resolve(value)],
  ]
  const casesOf = (values: [unknown, string][]) =>
    ways.flatMap(([way, wrap]) =>
      values.map(([value, got]) => ({ way, track: () => wrap(value) as never, got })),
    )

  test.each(casesOf(nonsense))('fails the event when a before plugin $way $got', async ({ track, got }) => {
    const { pipeline, run } = setUp()
    await pipeline.register(createPlugin('filtre', 'before', { track }))

    const { ends } = run()
    await settled()

    expect(ends[0]?.code).toBe('plugin')
    expect(ends[0]?.message).toBe(
      `the plugin 'filtre' returned something unusable: expected a context, an event or nothing, got ${got}`,
    )
  })

  test.each(casesOf([...nonsense, ...drops]))(
    'is reported when an enrichment plugin $way $got, and the event goes on',
    async (one) => {
      const { pipeline, reports, run } = setUp()
      await pipeline.register(createPlugin('géo', 'enrichment', { track: one.track }))

      const { ctx, ends, contexts } = run()
      await settled()

      expect(ends).toEqual([undefined])
      expect(contexts).toEqual([ctx])
      expect(ctx.event.event).toBe('Commande passée')
      expect(reports).toMatchObject([{ plugin: 'géo', verb: 'returned something that was ignored', ctx }])
    },
  )

  test.each(
    (['before', 'enrichment'] as const).flatMap((type) => ways.map(([way, wrap]) => ({ type, way, wrap }))),
  )(
    'may be another context, which the next plugin gets too: a $type plugin $way it',
    async ({ type, wrap }) => {
      const { pipeline, run } = setUp()
      const seen: Context[] = []
      let other: Context | undefined
      await pipeline.register(
        createPlugin('a', type, {
          track: (ctx) => {
            ctx.log('info', 'vu')
            other = new Context({ ...ctx.event, event: 'Commande annulée' })
            return wrap(other) as never
          },
        }),
      )
      await pipeline.register(
        createPlugin('b', 'enrichment', {
          track: (ctx) => {
            seen.push(ctx)
            return ctx
          },
        }),
      )

      const { ends, contexts } = run()
      await settled()

      expect(ends).toEqual([undefined])
      expect(contexts[0]).toBe(other)
      expect(seen[0]).toBe(other)
      expect(contexts[0]?.event.event).toBe('Commande annulée')
      expect(contexts[0]?.logs()).toHaveLength(1)
    },
  )

  test('may be a new event, which inherits the fields that it does not have', async () => {
    const { pipeline, run } = setUp()
    await pipeline.register(
      createPlugin('a', 'before', { track: () => ({ type: 'track', event: 'Autre', userId: 'u' }) as never }),
    )
    await pipeline.register(
      createPlugin('b', 'before', { track: () => new Context({ event: 'Encore' } as never) }),
    )

    const { contexts } = run()

    const { userId, ...former } = createContext().event
    expect(contexts[0]?.event).toEqual({ ...former, event: 'Encore', properties: undefined })
  })

  test('may be a context from another copy of this package', async () => {
    const { pipeline, run } = setUp()
    await pipeline.register(
      createPlugin('a', 'before', {
        track: ({ event }) => ({ event: { ...event, event: 'Autre' }, updateEvent() {} }) as never,
      }),
    )

    expect(run().contexts[0]?.event.event).toBe('Autre')
  })

  test.each(ways)('a plugin that sets ctx.event to nonsense and %s the context fails', async (_way, wrap) => {
    const { pipeline, reports, run } = setUp()
    const spoil = (ctx: Context): never => {
      ctx.event = null as never
      return wrap(ctx) as never
    }
    await pipeline.register(createPlugin('géo', 'enrichment', { track: spoil }))
    const enriched = run()
    await settled()
    await pipeline.register(createPlugin('filtre', 'before', { track: spoil }))
    const filtered = run()
    await settled()

    expect(enriched.ends).toEqual([undefined])
    expect(enriched.ctx.event.event).toBe('Commande passée')
    expect(reports.map(({ plugin, verb }) => [plugin, verb])).toEqual([['géo', 'failed and was skipped']])
    expect(filtered.ends[0]?.message).toMatch(/^the plugin 'filtre' failed: it set ctx.event to null/)
  })

  test.each(['destination', 'after', 'utility'] as const)(
    'the return value of a %s plugin is ignored',
    async (type) => {
      const { pipeline, reports, run } = setUp()
      await pipeline.register(createPlugin('a', type, { track: () => 5 as never }))

      const { ctx } = run()
      await distribute(pipeline, ctx)
      await conclude(pipeline, ctx)

      expect(reports).toEqual([])
    },
  )
})

describe('F101: plugins that fail', () => {
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
    ['rejects with an object that throws', () => Promise.reject(throwing)],
  ]

  test.each(failures)('a before plugin that %s makes the event fail with `plugin`', async (_label, fail) => {
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
    expect(reports).toMatchObject([{ plugin: 'géo', verb: 'failed and was skipped', ctx }])
    expect(reports[0]?.reason).toMatchObject({ code: 'plugin' })
    expect(reports[0]?.reason.message).toMatch(/^the plugin 'géo' failed and was skipped: /)
  })

  test.each(
    failures.flatMap(([label, fail]) =>
      (['destination', 'after'] as const).map((type) => ({ label, fail, type })),
    ),
  )('$type: a plugin that $label is reported once, and the others are called', async ({ fail, type }) => {
    const { pipeline, reports } = setUp()
    const order: string[] = []
    await pipeline.register(createPlugin('entrepôt', type, { track: fail }))
    await pipeline.register(createScribe('next', type, order))
    const ctx = createContext()

    await (type === 'after' ? conclude(pipeline, ctx) : distribute(pipeline, ctx))

    expect(order).toEqual(['next'])
    expect(reports).toMatchObject([{ plugin: 'entrepôt', verb: 'failed', reason: { code: 'plugin' }, ctx }])
  })

  test('a before plugin that cancels drops the event with its reason', async () => {
    const { pipeline, run } = setUp()
    await pipeline.register(createPlugin('filtre', 'before', { track: (ctx) => ctx.cancel('sans accord') }))

    const { ends } = run()

    expect(ends[0]?.message).toBe("the plugin 'filtre' dropped the event: sans accord")
  })
})

describe('F102: plugins that never settle', () => {
  const forever = (): Promise<never> => new Promise(() => {})

  test('a before plugin has five seconds, and then the event fails', async () => {
    const { clock, pipeline, run } = setUp()
    let calls = 0
    await pipeline.register(
      createPlugin('filtre', 'before', { track: (ctx) => (calls++ === 0 ? forever() : ctx) }),
    )

    const { ends, isDone } = run()
    // Other events are not delayed.
    expect(run().ends).toEqual([undefined])
    await clock.advance(4_999)
    expect(ends).toEqual([])
    await clock.advance(1)
    await settled()

    expect(isDone).toBe(false)
    expect(ends[0]?.message).toBe("the plugin 'filtre' failed: it took longer than 5000 ms")
  })

  test('an enrichment plugin is skipped, and a later result changes nothing', async () => {
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

  test.each(['destination', 'after'] as const)(
    'a plugin of type %s is not awaited for longer than five seconds',
    async (type) => {
      const { clock, pipeline, reports } = setUp()
      await pipeline.register(createPlugin('entrepôt', type, { track: forever }))
      const ctx = createContext()
      let isOver = false

      const work = type === 'after' ? conclude(pipeline, ctx) : distribute(pipeline, ctx)
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
  const names = { alternativeNames: ['Mixpanel (Actions)', 'Mixpanel (Legacy)'] }

  test.each(table)('$case: $isOn', async ({ integrations, isOn }) => {
    const { pipeline } = setUp()
    const order: string[] = []
    await pipeline.register(createScribe('Mixpanel', 'destination', order, names))

    distribute(pipeline, createContext(integrations as never))

    expect(order).toEqual(isOn ? ['Mixpanel'] : [])
  })

  test('inherited properties turn no destination on', async () => {
    const { pipeline } = setUp()
    const order: string[] = []
    await pipeline.register(createScribe('__proto__', 'destination', order))

    distribute(pipeline, createContext({ All: false }))

    expect(order).toEqual([])
  })

  test('integrations apply to destinations only', async () => {
    const { pipeline, run } = setUp()
    const order: string[] = []
    await pipeline.register(createScribe('a', 'before', order))
    await pipeline.register(createScribe('b', 'after', order))
    const { ctx } = run(createContext({ All: false, a: false, b: false }))

    conclude(pipeline, ctx)

    expect(order).toEqual(['a', 'b'])
  })

  test('a destination that is still loading gets its events after it has loaded, and delays nothing else', async () => {
    const { pipeline, run } = setUp()
    const order: string[] = []
    const loading = deferred()
    void pipeline.register(createScribe('lent', 'destination', order, { load: () => loading.promise }))

    const { ctx, isDone } = run()
    distribute(pipeline, ctx)
    await settled()
    expect(isDone).toBe(true)
    expect(order).toEqual([])
    loading.resolve()
    await settled()

    expect(order).toEqual(['lent'])
  })

  test('a destination that fails to load gets no events', async () => {
    const { pipeline, reports, run } = setUp()
    const order: string[] = []
    void pipeline.register(
      createScribe('lent', 'destination', order, { load: () => Promise.reject(new Error('non')) }),
    )

    const { ctx } = run()
    await distribute(pipeline, ctx)

    expect(order).toEqual([])
    expect(reports).toHaveLength(1)
  })
})

describe('F106: loading', () => {
  test('load gets a context and the client, and ready is awaited after it', async () => {
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
        pipeline.run(pipeline.enter(EVENT, createContext(), () => order.push(number)))
      }
      await settled()
      expect(order).toEqual([])
      loading.resolve()
      await settled()

      expect(order).toEqual([1, 2, 3])
      expect(run().isDone).toBe(true)
    },
  )

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
    expect(reports[0]?.reason.message).toMatch(/^the plugin 'cassé' failed to load and was left out: /)
    expect(pipeline.concerns('track')).toBe(false)
    expect(clock.timerCount).toBe(0)
    // It can be registered again.
    await pipeline.register(createScribe('cassé', 'before', order))
    run()
    expect(order).toEqual(['cassé'])
  })

  const noPlugins: [string, unknown, string][] = [
    ['undefined', undefined, 'expected an object, got undefined'],
    ['a function', () => {}, 'expected an object, got a function'],
    ['no name', createPlugin('', 'before'), 'a name that is a non-empty string, got an empty string'],
    ['a symbol for a name', createPlugin(Symbol('a') as never, 'before'), 'non-empty string, got a symbol'],
    ['no type', { ...createPlugin('a', 'before'), type: undefined }, 'one of the types'],
    ['an unknown type', createPlugin('a', 'middle' as never), 'one of the types'],
    [
      'a load that is not a function',
      createPlugin('a', 'before', { load: 5 as never }),
      'load to be a function',
    ],
    [
      'an isLoaded that is not a function',
      createPlugin('a', 'before', { isLoaded: true as never }),
      'isLoaded to be a function, got a boolean',
    ],
    [
      'a ready that is not a function',
      createPlugin('a', 'before', { ready: true as never }),
      'ready to be a',
    ],
    [
      'an all that is not a function',
      createPlugin('a', 'before', { all: 5 as never }),
      'all to be a function',
    ],
    [
      'an unload that is not a function',
      createPlugin('a', 'before', { unload: {} as never }),
      'unload to be a',
    ],
    [
      'another onLoadFailure',
      createPlugin('a', 'before', { onLoadFailure: 'Drop' as never }),
      "onLoadFailure to be 'skip' or 'drop', got a string",
    ],
  ]
  test.each(noPlugins)('%s is not a plugin', (_label, plugin, expected) => {
    const { pipeline } = setUp()

    expect(() => pipeline.register(plugin as Plugin)).toThrow(expected)
    expect(pipeline.concerns('track')).toBe(false)
  })

  test('handlers that load adds are called', async () => {
    const { pipeline, run } = setUp()
    const order: string[] = []
    const plugin = createPlugin('a', 'before', {
      load() {
        plugin.track = (ctx) => {
          order.push('a')
          return ctx
        }
      },
    })
    await pipeline.register(plugin)

    run()

    expect(order).toEqual(['a'])
  })

  test('a second plugin with the same name is refused', async () => {
    const { pipeline } = setUp()
    await pipeline.register(createPlugin('a', 'before'))

    expect(() => pipeline.register(createPlugin('a', 'after'))).toThrow("there is one named 'a' already")
  })
})

describe('deregistering plugins', () => {
  test('a deregistered plugin gets no more events, and its unload gets a context and the client', async () => {
    const { pipeline, client, run } = setUp()
    const order: string[] = []
    const unloaded: unknown[] = []
    await pipeline.register(
      createScribe('a', 'before', order, {
        unload: (ctx, analytics) => unloaded.push([ctx instanceof Context, analytics]),
      }),
    )

    await pipeline.deregister('a', passed)
    run()

    expect(order).toEqual([])
    expect(unloaded).toEqual([[true, client]])
  })

  test('an unload that hangs has five seconds', async () => {
    const { clock, pipeline, reports } = setUp()
    await pipeline.register(createPlugin('a', 'before', { unload: () => new Promise(() => {}) }))
    let isOver = false

    void pipeline.deregister('a', passed).then(() => {
      isOver = true
    })
    await clock.advance(4_999)
    expect(isOver).toBe(false)
    await clock.advance(1)
    await settled()

    expect(isOver).toBe(true)
    expect(reports).toMatchObject([{ plugin: 'a', verb: 'failed to unload' }])
    expect(clock.timerCount).toBe(0)
  })

  test('an event passes the plugins that were registered when it entered them; deregister waits for it', async () => {
    const { pipeline, run } = setUp()
    const order: string[] = []
    const first = deferred()
    await pipeline.register(createPlugin('lent', 'before', { track: () => first.promise }))
    await pipeline.register(createScribe('next', 'before', order))

    run()
    const removed = pipeline.deregister('next', passed).then(() => order.push('removed'))
    await settled()
    expect(order).toEqual([])
    run()
    first.resolve()
    await removed

    expect(order).toEqual(['next', 'removed'])
  })
})

describe('the asynchronous context', () => {
  const storage = new AsyncLocalStorage<string>()

  const observe = (name: string, type: PluginType, seen: string[], more: Partial<Plugin> = {}): Plugin =>
    createPlugin(name, type, {
      track: () => {
        seen.push(`${name}: ${storage.getStore()}`)
      },
      ...more,
    })

  test('of plugins is that of the call, even after plugins that are asynchronous or hang', async () => {
    const { clock, pipeline, run } = setUp()
    const seen: string[] = []
    await pipeline.register(observe('a', 'before', seen))
    await pipeline.register(
      createPlugin('lent', 'enrichment', {
        track: (ctx) => new Promise((resolve) => clock.setTimer(() => resolve(ctx), 10)),
      }),
    )
    await pipeline.register(observe('b', 'enrichment', seen))
    await pipeline.register(createPlugin('sourd', 'enrichment', { track: () => new Promise(() => {}) }))
    await pipeline.register(observe('c', 'enrichment', seen))

    const runs = ['un', 'deux'].map((name) => storage.run(name, () => run()))
    await storage.run('autre', () => clock.advance(10_000))

    expect(runs.every(({ ends }) => ends.length === 1)).toBe(true)
    expect(seen).toEqual(['a: un', 'a: deux', 'b: un', 'b: deux', 'c: un', 'c: deux'])
  })

  test('of events that wait for a plugin to load is still that of their calls', async () => {
    const { pipeline, run } = setUp()
    const seen: string[] = []
    const loading = deferred()
    void storage.run('registration', () =>
      pipeline.register(observe('lent', 'before', seen, { load: () => loading.promise })),
    )

    for (const name of ['un', 'deux']) storage.run(name, () => run())
    storage.run('autre', () => loading.resolve())
    await settled()

    expect(seen).toEqual(['lent: un', 'lent: deux'])
  })

  test.each(['after', 'utility'] as const)('of %s plugins is that of their registration', async (type) => {
    const { pipeline } = setUp()
    const seen: string[] = []
    await storage.run('registration', () => pipeline.register(observe('bilan', type, seen)))

    storage.run('autre', () => conclude(pipeline, createContext()))

    expect(seen).toEqual(['bilan: registration'])
  })
})

describe('abandoning', () => {
  test('leaves no timer when plugins hang or are still loading, and names a destination that was working', async () => {
    const { clock, pipeline, reports, run } = setUp()
    const order: string[] = []
    const forever = (): Promise<never> => new Promise(() => {})
    await pipeline.register(createPlugin('a', 'enrichment', { track: forever }))
    await pipeline.register(createScribe('next', 'enrichment', order))
    await pipeline.register(createPlugin('entrepôt', 'destination', { track: forever }))
    void pipeline.register(createPlugin('c', 'destination', { load: forever }))
    const { ctx, ends } = run()
    void distribute(pipeline, ctx)

    pipeline.abandon([EVENT])
    pipeline.close()
    await settled()

    expect(clock.timerCount).toBe(0)
    expect([order, ends]).toEqual([[], []])
    const messages = reports.map(({ reason }) => reason.message)
    expect(messages.filter((message) => message.includes("'a'"))).toEqual([])
    expect(messages).toContain(
      "the plugin 'entrepôt' was not waited for: abandoned: the client stopped waiting",
    )
  })

  test('lets events that waited for a plugin to load pass through no plugin', async () => {
    const { pipeline, run } = setUp()
    const order: string[] = []
    const loading = deferred()
    await pipeline.register(createScribe('prêt', 'before', order))
    void pipeline.register(createScribe('lent', 'before', order, { load: () => loading.promise }))
    const { ends } = run()

    pipeline.abandon([EVENT])
    loading.resolve()
    await settled()

    expect(order).toEqual([])
    expect(ends).toEqual([])
  })
})
