import { describe, expect, test } from 'vitest'
import { DeliveryError } from '../../src/errors/errors.ts'
import { Context, ContextCancelation, type ContextEvent } from '../../src/pipeline/context.ts'

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

describe('the context', () => {
  test('its id is the messageId of its event', () => {
    const ctx = createContext()

    expect(ctx.id).toBe('commande-17')
    expect(ctx.event.event).toBe('Commande passée')
  })

  test('made from JSON, its event has a Date for a timestamp', () => {
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
  ])('the path %s reaches no prototype', (path) => {
    const ctx = createContext()

    ctx.updateEvent(path, 'ja')

    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect((Object as unknown as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})

test('as many paths as there are can be set, each time anew', () => {
  const ctx = createContext()
  const numbers = Array.from({ length: 1_000 }, (_, index) => index)

  for (const by of [0, 1]) for (const number of numbers) ctx.updateEvent(`properties.n${number}`, number + by)

  for (const number of numbers) expect(ctx.event.properties?.[`n${number}`]).toBe(number + 1)
})

describe('cancelling', () => {
  test.each([
    ['nothing', undefined, 'cancelled'],
    ['a text', 'données personnelles', 'données personnelles'],
    ['an error', new Error('données personnelles'), 'données personnelles'],
    ['an object', { reason: 5 }, 'cancelled'],
  ])('with %s it leaves the plugin with that reason', (_label, reason, message) => {
    const ctx = createContext()

    expect(() => ctx.cancel(reason)).toThrow(
      expect.objectContaining({ name: 'ContextCancelation', message, cause: reason }),
    )
    expect(() => ctx.cancel(reason)).toThrow(ContextCancelation)
  })
})

describe('the log', () => {
  test('notes are kept in order, with level, extras and time', () => {
    const ctx = createContext()

    ctx.log('info', 'adresse trouvée', { ville: 'Łódź' })
    ctx.log('warn', 'sans code postal')

    expect(ctx.logs()).toEqual([
      { level: 'info', message: 'adresse trouvée', time: expect.any(Date), extras: { ville: 'Łódź' } },
      { level: 'warn', message: 'sans code postal', time: expect.any(Date), extras: undefined },
    ])
  })

  test('without notes it is empty', () => {
    expect(createContext().logs()).toEqual([])
  })

  test('it ends at 1,000 notes, and keeps the first', () => {
    const ctx = createContext()

    for (let number = 1; number <= 1_500; number++) ctx.log('debug', String(number))

    expect(ctx.logs()).toHaveLength(1_000)
    expect(ctx.logs()[999]?.message).toBe('1000')
  })
})

describe('the outcome', () => {
  test('while the event is on its way there is none', () => {
    const ctx = createContext()

    expect(ctx.failedDelivery()).toBeUndefined()
    expect(ctx.attempts).toBe(0)
  })

  test('a failure has its reason, and the requests that were made', () => {
    const ctx = createContext()
    const reason = new DeliveryError('rejected', '[400] Bad Request', { status: 400 })

    ctx.conclude(reason, 3)

    expect(ctx.failedDelivery()).toEqual({ reason })
    expect(ctx.attempts).toBe(3)
  })

  test('as JSON it shows id, event, attempts and logs', () => {
    const ctx = createContext()
    ctx.log('info', 'vu')
    ctx.conclude(undefined, 1)

    expect(JSON.parse(JSON.stringify(ctx))).toMatchObject({
      id: 'commande-17',
      event: { event: 'Commande passée', timestamp: '2026-11-20T09:30:00.000Z' },
      attempts: 1,
      logs: [{ level: 'info', message: 'vu' }],
    })
  })
})
