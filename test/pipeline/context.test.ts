import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ContextCancelation, DeliveryError } from '../../src/errors/errors.ts'
import { Context, type ContextEvent } from '../../src/pipeline/context.ts'

const NOW = new Date('2026-11-20T09:30:00Z')

function createContext(): Context {
  const event = {
    type: 'track',
    messageId: 'commande-17',
    timestamp: new Date('2026-11-20T09:30:00Z'),
    userId: 'usr_Zoë',
    event: 'Commande passée',
    properties: { price: 12.5, article: { name: 'Thé' } },
    context: { library: { name: 'trackpost', version: '0.1.0' } },
    integrations: {},
    _metadata: { jsRuntime: 'node' },
  } as ContextEvent
  return new Context(event)
}

beforeEach(() => void vi.useFakeTimers({ now: NOW, toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

describe('the context', () => {
  test('the event in a context from JSON has a Date as timestamp', () => {
    const ctx = new Context(undefined, '{"messageId":"m1","timestamp":"2026-11-20T09:30:00.000Z"}')

    expect(ctx.event.timestamp).toEqual(new Date('2026-11-20T09:30:00Z'))
    expect(ctx.event).toBe(ctx.event)
  })

  test('the event can be replaced as a whole', () => {
    const ctx = createContext()

    ctx.event = { ...ctx.event, event: 'Commande annulée' }

    expect(ctx.event.event).toBe('Commande annulée')
    expect(ctx.toJSON().event.event).toBe('Commande annulée')
  })
})

describe('updating the event', () => {
  test.each([
    ['a top-level field', 'event', 'Panier', (e: ContextEvent) => e.event],
    ['a nested field', 'properties.price', 9, (e: ContextEvent) => e.properties?.['price']],
    [
      'a field whose parents are missing',
      'context.device.model',
      'Pixel',
      (e: ContextEvent) => e.context['device'],
    ],
    ['a name with an accent', 'properties.prénom', 'Zoë', (e: ContextEvent) => e.properties?.['prénom']],
  ])('%s is set', (_label, path, value, read) => {
    const ctx = createContext()

    const event = ctx.updateEvent(path, value)

    expect(event).toBe(ctx.event)
    expect(JSON.stringify(read(event))).toContain(JSON.stringify(value))
  })

  test.each([
    '__proto__.polluted',
    'constructor.prototype.polluted',
    'properties.__proto__.polluted',
    'properties.constructor.prototype.polluted',
    'context.library.__proto__.polluted',
  ])('S20: the path %s does not reach a prototype', (path) => {
    const ctx = createContext()

    ctx.updateEvent(path, 'ja')

    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect((Object as unknown as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})

describe('cancelling', () => {
  test.each([
    ['nothing', undefined, 'cancelled'],
    ['a text', 'données personnelles', 'données personnelles'],
    ['an error', new Error('données personnelles'), 'données personnelles'],
    ['an object, as for other SDKs', { type: 'consent', reason: 'sans accord' }, 'sans accord'],
    ['another value', 5 as never, 'cancelled'],
  ])('with %s throws a cancelation with that reason', (_label, reason, message) => {
    const ctx = createContext()

    expect(() => ctx.cancel(reason)).toThrow(expect.objectContaining({ name: 'ContextCancelation', message }))
    expect(() => ctx.cancel(reason)).toThrow(ContextCancelation)
  })
})

describe('the log entries', () => {
  test('are kept in order, with level, extras and time', () => {
    const ctx = createContext()

    ctx.log('info', 'adresse trouvée', { ville: 'Łódź' })
    ctx.logger.log('warn', 'sans code postal')

    expect(ctx.logs()).toEqual([
      { level: 'info', message: 'adresse trouvée', time: NOW, extras: { ville: 'Łódź' } },
      { level: 'warn', message: 'sans code postal', time: NOW, extras: undefined },
    ])
    expect(ctx.logger.logs).toBe(ctx.logs())
  })

  test('are limited to the first 1,000', () => {
    const ctx = createContext()

    for (let number = 1; number <= 1_500; number++) ctx.log('debug', String(number))

    expect(ctx.logs()).toHaveLength(1_000)
    expect(ctx.logs()[999]?.message).toBe('1000')
  })
})

describe('the metrics', () => {
  test('are kept in order, with value, tags and time', () => {
    const ctx = createContext()
    const timestamp = NOW.getTime()

    ctx.stats.increment('adresses')
    ctx.stats.increment('adresses', 3, ['ville:Łódź'])
    ctx.stats.gauge('file', 17)

    expect(ctx.stats.metrics).toEqual([
      { metric: 'adresses', value: 1, type: 'counter', tags: [], timestamp },
      { metric: 'adresses', value: 3, type: 'counter', tags: ['ville:Łódź'], timestamp },
      { metric: 'file', value: 17, type: 'gauge', tags: [], timestamp },
    ])
    expect(ctx.toJSON().metrics).toEqual(ctx.stats.metrics)
  })

  test('are limited to the first 1,000', () => {
    const { stats } = createContext()

    for (let number = 1; number <= 1_500; number++) stats.increment('n', number)

    expect(stats.metrics).toHaveLength(1_000)
    expect(stats.metrics[999]?.value).toBe(1_000)
  })
})

describe('contexts created by hand', () => {
  test('are the same when their events have the same messageId', () => {
    const ctx = createContext()

    ctx.log('info', 'vu')
    const other = new Context(ctx.event)

    expect([other.event, other.id, other.logs()]).toEqual([ctx.event, 'commande-17', []])
    expect(ctx.isSame(other)).toBe(true)
    expect(ctx.isSame(new Context({ ...ctx.event, messageId: 'commande-18' }))).toBe(false)
  })

  test('from Context.system() each have their own event', () => {
    const ctx = Context.system()

    expect(ctx).toBeInstanceOf(Context)
    expect(ctx.event).toMatchObject({ type: 'track', event: 'system' })
    expect(ctx.event).not.toBe(Context.system().event)
  })
})

describe('a cancelation', () => {
  test('that is passed to cancel() is thrown unchanged', () => {
    const error = new ContextCancelation('sans accord')

    expect(() => createContext().cancel(error)).toThrow(error)
  })
})

describe('the outcome', () => {
  test('is in the context as JSON, with id, event, attempts, logs and metrics', () => {
    const ctx = createContext()
    expect([ctx.failedDelivery(), ctx.attempts, ctx.logs()]).toEqual([undefined, 0, []])
    const reason = new DeliveryError('rejected', '[400] Bad Request', { status: 400 })
    ctx.report('plan', 'vu')
    ctx.conclude(reason, 3)

    expect(ctx.failedDelivery()).toEqual({ reason })
    expect(JSON.parse(JSON.stringify(ctx))).toMatchObject({
      id: 'commande-17',
      event: { event: 'Commande passée', timestamp: '2026-11-20T09:30:00.000Z' },
      attempts: 3,
      logs: [{ level: 'warn', message: 'vu', extras: { plugin: 'plan', reason: 'vu' } }],
      metrics: [],
    })
  })
})
