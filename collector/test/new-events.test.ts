import { expect, test } from 'vitest'
import { DEFAULT_CONFIG } from '../src/config/defaults.ts'
import { newEvent, type PlanChecker, type RequestContext } from '../src/ingest/new-events.ts'
import { track } from './support.ts'

const violation = { path: 'properties.total', keyword: 'type', message: 'must be number' }
const plan: PlanChecker = {
  check: (kind, name, { properties }) =>
    kind === 'track' && name === 'Order' && typeof (properties as { total: unknown }).total !== 'number'
      ? [violation]
      : [],
}
const context: RequestContext = {
  pathKind: undefined,
  envelope: {
    inheritance: undefined,
    sentAt: undefined,
    sentAtMs: undefined,
    receivedAtMs: 0,
    receivedAt: '1970-01-01T00:00:00.000Z',
    remoteAddress: '',
    warnings: [],
  },
  caller: {
    outcome: 'source',
    source: { name: 'shop', region: 'default', rate: undefined, destinations: undefined },
  },
  config: DEFAULT_CONFIG,
  plan,
  requestId: '7',
}

test('an event that violates the plan is accepted with its violations', () => {
  const event = newEvent(track({ event: 'Order', properties: { total: '19.90' } }), 0, context)

  expect(event).toMatchObject({ reason: null, violations: [violation], requestId: '7' })
})

test('an event that matches the plan, an event without a plan and a refused event have no violations', () => {
  const planned = newEvent(track({ event: 'Order', properties: { total: 19.9 } }), 0, context)
  const free = newEvent(track({ event: 'Order', properties: {} }), 0, { ...context, plan: undefined })
  const refused = newEvent(track({ event: 'Order', properties: {}, userId: undefined }), 0, context)

  for (const event of [planned, free, refused]) expect(event.violations).toBeUndefined()
  expect(refused.reason).toBe('no_user_anon_id')
})
