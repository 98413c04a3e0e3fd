import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startCollector } from '../../src/index.ts'
import { loadPlan, TrackingPlan, type TrackingPlanFile } from '../../src/plan/plan.ts'
import { newFolder } from '../support/process.ts'
import { openCollector, post, track } from '../support.ts'

const file: TrackingPlanFile = {
  title: 'Shop',
  additionalEvents: false,
  track: {
    'Order Completed': {
      type: 'object',
      properties: {
        total: { type: 'number', minimum: 0 },
        at: { type: 'string', format: 'date-time' },
        items: { type: 'array', items: { type: 'object', required: ['id'] } },
      },
      required: ['total'],
      additionalProperties: false,
    },
  },
  identify: { type: 'object', properties: { plan: { enum: ['free', 'pro'] } } },
}

test.each<[string, string | null, object, Array<[path: string, keyword: string]>]>([
  ['track', 'Order Completed', { properties: { total: 1 } }, []],
  ['track', 'Order Completed', { properties: {} }, [['properties.total', 'required']]],
  ['track', 'Order Completed', {}, [['properties.total', 'required']]],
  [
    'track',
    'Order Completed',
    { properties: { total: -1, at: 'soon' } },
    [
      ['properties.total', 'minimum'],
      ['properties.at', 'format'],
    ],
  ],
  [
    'track',
    'Order Completed',
    { properties: { total: 1, extra: 1 } },
    [['properties.extra', 'additionalProperties']],
  ],
  [
    'track',
    'Order Completed',
    { properties: { total: 1, items: [{}] } },
    [['properties.items.0.id', 'required']],
  ],
  ['track', 'Refunded', { properties: {} }, [['event', 'unplanned']]],
  ['page', 'Home', {}, [['name', 'unplanned']]],
  ['identify', null, { traits: { plan: 'gold' } }, [['traits.plan', 'enum']]],
  ['group', 'acme', { traits: { anything: 1 } }, []],
  ['alias', 'old', {}, []],
])('the plan finds the violations of %s %s %j', (kind, name, message, expected) => {
  const found = new TrackingPlan(file).check(kind, name, message)

  expect(found.map(({ path, keyword }) => [path, keyword]).sort()).toEqual(expected.sort())
})

test.each([
  [{ tracks: {} }, /tracks/],
  [{ track: { A: { type: 'nonsense' } } }, /\/track\/A\/type: must be/],
  [[], /object/],
])('the plan %j is refused, and the error names the place', (wrong, message) => {
  expect(() => new TrackingPlan(wrong as TrackingPlanFile)).toThrow(message)
})

test.each([
  ['pattern', { type: 'object', properties: { id: { pattern: '^(a+)+$' } } }, { id: `${'a'.repeat(5000)}!` }],
  [
    'additionalProperties',
    { type: 'object', patternProperties: { '^(a+)+$': {} }, additionalProperties: false },
    { [`${'a'.repeat(5000)}!`]: 1 },
  ],
])(
  'a text on which a %s would backtrack for ever is checked in linear time',
  (keyword, schema, properties) => {
    const plan = new TrackingPlan({ track: { A: schema } })

    expect(plan.check('track', 'A', { properties }).map((one) => one.keyword)).toEqual([keyword])
  },
)

test.each(['(?=a)b', '(a)\\1', '('])(
  'a plan whose pattern %s cannot be checked in linear time is refused, and the error names the event and the pattern',
  (pattern) => {
    const plan = { track: { A: { properties: { id: { pattern } } } } }

    expect(() => new TrackingPlan(plan)).toThrow(`track:A: the pattern ${JSON.stringify(pattern)}`)
  },
)

test.each([
  ['https://shop.example/a?b', 0],
  ['HTTP://127.0.0.1:80', 0],
  ['mailto:ada@example.com', 1],
  ['shop', 1],
])('the format url takes %s: %i violations', (url, count) => {
  const plan = new TrackingPlan({ track: { A: { properties: { url: { format: 'url' } } } } })

  expect(plan.check('track', 'A', { properties: { url } })).toHaveLength(count)
})

test('an event with violations is accepted; violations are marked, counted, and can be searched and waited for', async () => {
  const path = join(newFolder(), 'plan.json')
  writeFileSync(path, JSON.stringify(file))
  const collector = await openCollector({ plan: path })

  await post(
    collector,
    '/v1/track',
    track({ event: 'Order Completed', properties: { total: 'x' }, messageId: 'bad' }),
  )
  await post(
    collector,
    '/v1/track',
    track({ event: 'Order Completed', properties: { total: 1 }, messageId: 'good' }),
  )
  await post(collector, '/v1/track', { userId: 'u' })

  expect(await collector.waitFor({ q: 'violation:*' })).toMatchObject([
    { messageId: 'bad', violations: 1, status: 'accepted' },
  ])
  expect(collector.count({ q: 'violation:number' })).toBe(1)
  expect(collector.count({ q: '-violation:* status:accepted' })).toBe(1)
})

test('if a plan cannot be read or parsed, the start fails with a message of one line', async () => {
  const path = join(newFolder(), 'plan.json')
  await expect(startCollector({ port: 0, plan: path })).rejects.toThrow(/plan: .* cannot be read \(ENOENT\)/)
  writeFileSync(path, '{\n  "track": [}')
  await expect(startCollector({ port: 0, plan: path })).rejects.toThrow(
    `${path}:2:13: expected a value, but found "}"`,
  )
})

test.each([
  [
    '"type": "nmber"',
    '5:17: /track/Order~1Completed/properties/total/type: must be equal to one of the allowed values: ',
  ],
  ['"enum": "a"', '5:17: /track/Order~1Completed/properties/total/enum: must be array'],
  ['"pattern": "(?=a)"', '3:24: track:Order/Completed: the pattern "(?=a)" is not in the syntax of RE2'],
])('a schema with %s is reported with file, line and column', (keyword, message) => {
  const path = join(newFolder(), 'plan.json')
  writeFileSync(
    path,
    `{
  "track": {
    "Order/Completed": {
      "properties": { "id": { "type": "string" }, "total": {
        ${keyword} } } } }
}`,
  )

  expect(() => loadPlan(path)).toThrow(`${path}:${message}`)
})
