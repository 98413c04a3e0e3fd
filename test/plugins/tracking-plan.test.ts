import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Plugin } from '../../src/pipeline/plugin.ts'
import { type TrackingPlanOptions, trackingPlan, violationsOf } from '../../src/plugins.ts'
import { createAnalytics } from '../support/create-analytics.ts'
import { settled } from '../support/fake-clock.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()

function schemaOf(validate: (value: unknown) => unknown) {
  return { '~standard': { version: 1, vendor: 'essai', validate } } as never
}

async function setUp(schemas: Parameters<typeof trackingPlan>[0], options?: TrackingPlanOptions) {
  const { analytics, client } = createAnalytics()
  const warnings: { plugin?: string; message: string; violations: readonly unknown[] }[] = []
  const errors: { code: string; message: string; violations: readonly unknown[] }[] = []
  analytics.on('warning', ({ plugin, reason }) => {
    warnings.push({
      plugin: plugin ?? '',
      message: (reason as Error).message,
      violations: violationsOf(reason),
    })
  })
  analytics.on('error', ({ reason }) => {
    errors.push({ code: reason.code, message: reason.message, violations: violationsOf(reason) })
  })
  await analytics.register(trackingPlan(schemas, options))
  const track = (event: string, properties?: object): void => {
    analytics.track({ userId: 'usr_Zoë', event, properties: properties as never })
  }
  const sent = async () => {
    await settled()
    await analytics.flush()
    return client.requests.flatMap(({ batch }) => batch) as unknown as {
      event: string
      properties: unknown
      context: Record<string, unknown>
    }[]
  }
  return { analytics, warnings, errors, track, sent }
}

/** The same schema in three libraries, and asynchronously in two of them. It trims the text of `id` and keeps unknown keys. */
const libraries: [string, ReturnType<typeof schemaOf>][] = [
  [
    'zod',
    z.looseObject({ id: z.string().trim(), items: z.array(z.looseObject({ price: z.number() })) }) as never,
  ],
  [
    'zod, asynchronous',
    z.looseObject({
      id: z
        .string()
        .trim()
        .refine(async () => true),
      items: z.array(z.looseObject({ price: z.number() })),
    }) as never,
  ],
  [
    'valibot',
    v.looseObject({
      id: v.pipe(v.string(), v.trim()),
      items: v.array(v.looseObject({ price: v.number() })),
    }) as never,
  ],
  [
    'valibot, asynchronous',
    v.looseObjectAsync({
      id: v.pipeAsync(
        v.string(),
        v.trim(),
        v.checkAsync(async () => true),
      ),
      items: v.array(v.looseObject({ price: v.number() })),
    }) as never,
  ],
  ['arktype', type({ id: 'string.trim', items: type({ price: 'number' }).array() }) as never],
]

describe.each(libraries)('a schema of %s', (_label, schema) => {
  const bad = { id: 'o-1', items: [{ price: 1 }, { price: 'gratuit' }] }

  test('the properties that the schema returns are sent', async () => {
    const { track, sent, warnings } = await setUp({ 'Commande passée': schema })

    track('Commande passée', { id: '  o-1 ', items: [{ price: 12.5 }] })

    expect(await sent()).toMatchObject([{ properties: { id: 'o-1', items: [{ price: 12.5 }] } }])
    expect(warnings).toEqual([])
  })

  test("'report' mentions the path, and sends the unchanged event", async () => {
    const { track, sent, warnings, errors } = await setUp({ 'Commande passée': schema })

    track('Commande passée', bad)

    expect(await sent()).toMatchObject([{ properties: bad }])
    expect(errors).toEqual([])
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatchObject({
      plugin: 'tracking-plan',
      message: expect.stringMatching(
        /^the plugin 'tracking-plan' reported: 'Commande passée' does not follow .*: items\.1\.price: ./,
      ),
      violations: [{ path: 'items.1.price', message: expect.stringMatching(/./) }],
    })
  })

  test("'drop' fails the event, mentions the path, and affects no other event", async () => {
    const { track, sent, warnings, errors } = await setUp(
      { 'Commande passée': schema },
      { onViolation: 'drop' },
    )

    track('Commande passée', bad)
    track('Panier vu')

    expect((await sent()).map(({ event }) => event)).toEqual(['Panier vu'])
    expect(warnings).toEqual([])
    expect(errors).toMatchObject([
      {
        code: 'plugin',
        message: expect.stringMatching(
          /^the plugin 'tracking-plan' dropped the event: .*: items\.1\.price: ./,
        ),
        violations: [{ path: 'items.1.price' }],
      },
    ])
  })
})

describe('the plan', () => {
  const plan = { 'Commande passée': z.object({ total: z.number() }) }

  test('with synchronous schemas returns no promise, and settles the event at once', async () => {
    const { analytics } = await setUp(plan, { onViolation: 'drop' })
    const { track } = trackingPlan(plan) as Required<Plugin>

    const result = track({ event: { event: 'Commande passée', properties: { total: 1 } } } as never)
    analytics.track({ userId: 'u', event: 'Commande passée' })
    await undefined
    await undefined

    expect(result).toBeUndefined()
    expect(analytics.stats.failures.plugin).toBe(1)
  })

  const unknownEvents: [TrackingPlanOptions['unknownEvents'], number, number, number][] = [
    [undefined, 1, 0, 0],
    ['allow', 1, 0, 0],
    ['report', 1, 1, 0],
    ['drop', 0, 0, 1],
  ]
  test.each(unknownEvents)('unknown events with %s: %d sent, %d reported, %d failed', async (...row) => {
    const [unknownEvents, sentCount, warned, failed] = row
    const { track, sent, warnings, errors } = await setUp(plan, { unknownEvents })

    track('Commande expédiée')

    expect([(await sent()).length, warnings.length, errors.length]).toEqual([sentCount, warned, failed])
    for (const { message } of [...warnings, ...errors]) {
      expect(message).toContain("'Commande expédiée' is not in the tracking plan")
    }
  })

  test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'does not know %s, which every object inherits',
    async (name) => {
      const { track, sent, errors } = await setUp(plan, { unknownEvents: 'drop' })

      track(name)

      expect(await sent()).toEqual([])
      expect(errors).toHaveLength(1)
    },
  )

  test('checks an event without properties as {}, and if that is invalid, as undefined', async () => {
    const { track, sent, warnings } = await setUp({
      facultatif: z.object({ a: z.string().optional() }),
      rien: z.undefined(),
      'rien, plus tard': z.undefined().refine(async () => true),
      peut_être: z.object({ a: z.string() }).optional(),
      requis: z.object({ a: z.string() }),
    })

    for (const name of ['facultatif', 'rien', 'rien, plus tard', 'peut_être', 'requis']) track(name)

    expect((await sent()).map(({ properties }) => properties)).toEqual(Array(5).fill({}))
    expect(warnings.map(({ message }) => message)).toEqual([expect.stringContaining("'requis' does not")])
  })

  test('keeps the text of thousands of violations short', async () => {
    const issues = Array.from({ length: 10_000 }, (_, index) => ({
      message: `m${index} ${'é'.repeat(10_000)}`,
      path: Array(1_000).fill({ key: 'clé' }),
    }))
    const { track, sent, warnings } = await setUp({ x: schemaOf(() => ({ issues })) })

    track('x')
    await sent()

    const violations = warnings[0]?.violations as { path: string; message: string }[]
    expect(violations).toHaveLength(21)
    expect(violations[20]).toEqual({ path: '', message: 'and 9980 more' })
    expect(Math.max(...violations.flatMap(({ path, message }) => [path.length, message.length]))).toBe(200)
  })

  test.each([
    [
      'a misspelt option',
      () => trackingPlan({}, { onviolation: 'drop' } as never),
      "no option 'onviolation'; the options are onViolation",
    ],
    [
      'an unknown value for onViolation',
      () => trackingPlan({}, { onViolation: 'warn' as never }),
      "expected one of 'report'",
    ],
    [
      'an unknown value for unknownEvents',
      () => trackingPlan({}, { unknownEvents: 'mark' as never }),
      'unknownEvents',
    ],
  ])('refuses %s', (_label, make, message) => {
    expect(make).toThrow(TypeError)
    expect(make).toThrow(message)
  })
})

describe('a broken schema', () => {
  const throwing = new Proxy(
    {},
    {
      get() {
        throw new Error('piège')
      },
    },
  )
  const broken: [string, (value: unknown) => unknown, string][] = [
    [
      'throws',
      () => {
        throw new RangeError('cassé')
      },
      'cassé',
    ],
    [
      'throws undefined',
      () => {
        throw undefined
      },
      'its schema failed',
    ],
    ['rejects', () => Promise.reject(new Error('rejeté')), 'rejeté'],
    [
      'returns a value that is not an object',
      () => ({ value: 5 }),
      'expected properties from the schema, got a num',
    ],
    ['returns a list', () => ({ value: [] }), 'expected properties from the schema, got an array'],
    ['returns an object that throws', () => throwing, 'piège'],
    ['returns issues whose properties throw', () => ({ issues: [throwing] }), 'piège'],
    [
      'returns a promise whose then throws',
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: the test needs an object that looks like a promise
        then() {
          throw new Error('jamais')
        },
      }),
      'jamais',
    ],
  ]

  test.each(broken)(
    'is reported because it %s, and affects no other event',
    async (_label, validate, message) => {
      for (const onViolation of ['report', 'drop'] as const) {
        const { track, sent, warnings, errors } = await setUp(
          { cassé: schemaOf(validate), sain: z.object({ a: z.number() }) },
          { onViolation },
        )

        track('sain', { a: 1 })
        track('cassé', { a: 1 })
        track('sain', { a: 2 })

        const names = (await sent()).map(({ event }) => event)
        const isLost = onViolation === 'drop'
        expect(names.sort()).toEqual(isLost ? ['sain', 'sain'] : ['cassé', 'sain', 'sain'])
        expect([warnings.length, errors.length]).toEqual(isLost ? [0, 1] : [1, 0])
        const told = [...warnings, ...errors][0]?.message
        expect(told).toContain(`'cassé' could not be checked: its schema failed`)
        expect(told).toContain(message)
      }
    },
  )
})

test('errors that a tracking plan has not caused have no violations', () => {
  for (const reason of [undefined, null, 5, new Error('non'), { violations: ['x'] }]) {
    expect(violationsOf(reason)).toEqual([])
  }
})
