import { expect, test } from 'vitest'
import { ContextCancelation } from '../../src/errors/errors.ts'
import type { Plugin } from '../../src/pipeline/plugin.ts'
import { redact } from '../../src/plugins.ts'
import { runPlugin } from '../../src/testing.ts'

const order = { type: 'track', userId: 'ada', event: 'Order Completed', properties: { total: 42.5 } } as const

const create = (type: Plugin['type'], track: Plugin['track'], rest: Partial<Plugin> = {}): Plugin => ({
  name: 'under-test',
  type,
  ...(track !== undefined && { track }),
  ...rest,
})

test('an event that was changed is returned, with its log entries', async () => {
  const plugin = create('enrichment', async (ctx) => {
    ctx.log('info', 'seen', { by: 'test' })
    ctx.stats.increment('orders', 2)
    ctx.updateEvent('context.app.version', '7')
  })

  const run = await runPlugin(plugin, order)

  expect(run.event).toMatchObject({ event: 'Order Completed', context: { app: { version: '7' } } })
  expect(run.event?.timestamp).toBeInstanceOf(Date)
  expect(run).not.toHaveProperty('dropped')
  expect(run.logs).toMatchObject([{ level: 'info', message: 'seen', extras: { by: 'test' } }])
  expect(run.metrics).toMatchObject([{ metric: 'orders', value: 2 }])
  expect(run.messages).toMatchObject([{ context: { app: { version: '7' } } }])
  expect(run.error).toBeUndefined()
})

test.each<[string, Plugin['track'], string]>([
  ['ctx.cancel', (ctx) => ctx.cancel('no consent'), 'no consent'],
  ['null', () => null, 'it returned null'],
  ['a ContextCancelation', () => Promise.reject(new ContextCancelation({ reason: 'a bot' })), 'a bot'],
])('an event dropped by %s causes no error', async (_label, track, reason) => {
  const run = await runPlugin(create('before', track), order)

  expect(run.dropped).toBe(reason)
  expect(run).not.toHaveProperty('event')
  expect(run.error).toBeUndefined()
  expect(run.messages).toEqual([])
})

const failure = new RangeError('out of range')
const fail = (): never => {
  throw failure
}

test('an error in a before plugin drops the event, and is returned unchanged', async () => {
  const run = await runPlugin(create('before', fail), order)

  expect(run.error).toBe(failure)
  expect(run.dropped).toBe("the plugin 'under-test' failed: out of range")
})

test.each(['enrichment', 'destination', 'after', 'utility'] as const)(
  'an error in a plugin of the type %s loses no event, and is returned unchanged',
  async (type) => {
    const run = await runPlugin(
      create(type, async () => fail()),
      order,
    )

    expect(run.error).toBe(failure)
    expect(run.event?.event).toBe('Order Completed')
  },
)

test('problems that a plugin reports, and events that it tracks, are returned', async () => {
  const plugin: Plugin & { tracker?: { track(params: object): void } } = create(
    'destination',
    async (ctx) => {
      ctx.report('under-test', new Error('slow today'))
      if (ctx.event.event === 'Order Completed') plugin.tracker?.track({ userId: 'ada', event: 'Echo' })
    },
    {
      load: (_ctx, analytics) => {
        plugin.tracker = analytics
      },
    },
  )

  const run = await runPlugin(plugin, order)

  expect(run.error).toMatchObject({ message: 'slow today' })
  expect(run.messages.map((message) => message.type === 'track' && message.event)).toEqual([
    'Order Completed',
    'Echo',
  ])
})

test('the error of a plugin that cannot be loaded is returned, and the event goes on as in production', async () => {
  const load = (): never => fail()

  const skipped = await runPlugin(create('before', undefined, { load }), order)
  const dropped = await runPlugin(create('before', undefined, { load, onLoadFailure: 'drop' }), order)

  expect(skipped.error).toBe(failure)
  expect(skipped.event?.event).toBe('Order Completed')
  expect(dropped.dropped).toContain("'under-test' could not be loaded")
  expect(dropped.error).toBe(failure)
})

test('a plugin is unloaded, and its asynchronous work is awaited', async () => {
  const calls: string[] = []
  const plugin = create('after', async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    calls.push('track')
  })

  await runPlugin({ ...plugin, unload: () => void calls.push('unload') }, order)

  expect(calls).toEqual(['track', 'unload'])
})

test('a bad message is refused', async () => {
  await expect(runPlugin(redact({ keys: ['a'] }), { type: 'track', userId: '', event: 'x' })).rejects.toThrow(
    'userId',
  )
})

test.each([null, undefined, 'track', { userId: 'ada' }, { type: 'trakc', userId: 'ada' }])(
  'the message %j is refused with an error that lists the types',
  async (message) => {
    await expect(runPlugin(redact({ keys: ['a'] }), message as never)).rejects.toThrow(
      /^runPlugin: message: expected .* identify, track, page, screen, group, alias$/,
    )
  },
)

test('a value that is not a plugin is refused, and not run as a plugin without handlers', async () => {
  await expect(runPlugin({ name: '' } as never, order)).rejects.toThrow('a name')
})
