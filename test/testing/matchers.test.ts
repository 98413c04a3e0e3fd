import { describe, expect, test } from 'vitest'
import { createTestClient, matchers } from '../../src/testing.ts'

interface Events {
  'Signed Up': undefined
  'Order Completed': { total: number; items?: { sku: string; price: number }[] }
}

function createShop() {
  const client = createTestClient<Events>()
  const { analytics } = client
  analytics.track({
    userId: 'ada',
    event: 'Order Completed',
    properties: { total: 42.5, items: [{ sku: 'tea', price: 12.5 }] },
  })
  analytics.track({ userId: 'zoe', event: 'Order Completed', properties: { total: 7 } })
  analytics.identify({ userId: 'ada', traits: { plan: 'pro' } })
  analytics.page({ userId: 'ada', name: 'Pricing' })
  analytics.screen({ userId: 'ada', name: 'Basket' })
  analytics.group({ userId: 'ada', groupId: 'engines', traits: { seats: 4 } })
  analytics.alias({ previousId: 'v-17', userId: 'ada' })
  return client
}

const { toHaveTracked, toHaveIdentified, toHavePaged, toHaveScreened, toHaveGrouped, toHaveAliased } =
  matchers

describe('a matcher passes', () => {
  test.each([
    ['for the name alone', toHaveTracked(createShop(), 'Order Completed')],
    ['for a part of the message', toHaveTracked(createShop(), 'Order Completed', { userId: 'zoe' })],
    [
      'for a part of its properties',
      toHaveTracked(createShop(), 'Order Completed', { properties: { items: [{ sku: 'tea' }] } }),
    ],
    [
      'for asymmetric matchers',
      toHaveTracked(createShop(), 'Order Completed', {
        messageId: expect.stringMatching(/^[\w-]{36}$/),
        properties: expect.objectContaining({ total: expect.closeTo(42.5) }),
      }),
    ],
    ['for what undefined leaves open', toHaveTracked(createShop(), 'Order Completed', { userId: undefined })],
    ['of identify', toHaveIdentified(createShop(), { traits: { plan: 'pro' } })],
    ['of page', toHavePaged(createShop(), { name: 'Pricing' })],
    ['of screen', toHaveScreened(createShop(), { name: 'Basket' })],
    ['of group', toHaveGrouped(createShop(), { groupId: 'engines' })],
    ['of alias', toHaveAliased(createShop(), { previousId: 'v-17' })],
    ['for the client itself', toHaveTracked(createShop().analytics, 'Order Completed')],
    ['for a list of messages', toHaveTracked(createShop().find({ userId: 'zoe' }), 'Order Completed')],
  ])('%s', (_label, result) => {
    expect(result.pass).toBe(true)
  })
})

describe('a matcher fails', () => {
  test.each([
    ['for another name', toHaveTracked(createShop(), 'Signed Up')],
    ['for another value', toHaveTracked(createShop(), 'Order Completed', { properties: { total: 8 } })],
    [
      'when no one message has it all',
      toHaveTracked(createShop(), 'Order Completed', { userId: 'zoe', properties: { total: 42.5 } }),
    ],
    ['for a shorter list', toHaveTracked(createShop(), 'Order Completed', { properties: { items: [] } })],
    [
      'for a list that should be an object',
      toHaveTracked(createShop(), 'Order Completed', { properties: { items: {} } }),
    ],
    ['for null where something is', toHaveTracked(createShop(), 'Order Completed', { userId: null })],
    ['for a field that is not there', toHaveAliased(createShop(), { anonymousId: 'v' })],
    ['for names of Object.prototype', toHavePaged(createShop(), { constructor: Object })],
    ['for another trait', toHaveIdentified(createShop(), { traits: { plan: 'free' } })],
    ['for a page of that name that is a screen', toHavePaged(createShop(), { name: 'Basket' })],
    ['for an empty client', toHaveGrouped(createTestClient())],
  ])('%s', (_label, result) => {
    expect(result.pass).toBe(false)
  })
})

describe('the message of a failure', () => {
  test('shows the nearest events, with what is different, nearest first', () => {
    const { message } = toHaveTracked(createShop(), 'Order Completed', {
      userId: 'ada',
      properties: { total: 43 },
    })

    expect(message()).toBe(
      [
        "expected track call of 'Order Completed'",
        '',
        'expected: {"type":"track","userId":"ada","properties":{"total":43},"event":"Order Completed"}',
        '',
        'sent: 7 messages; the nearest:',
        '  track Order Completed {"userId":"ada","properties":{"total":42.5,"items":[{"sku":"tea","price":12.5}]}}',
        '    properties.total: expected 43, got 42.5',
        '  track Order Completed {"userId":"zoe","properties":{"total":7}}',
        '    userId: expected "ada", got "zoe"',
        '    properties.total: expected 43, got 7',
        '  alias {"previousId":"v-17","userId":"ada"}',
        '    type: expected "track", got "alias"',
      ].join('\n'),
    )
  })

  test('finds a name that was misspelt', () => {
    const client = createTestClient()
    client.analytics.track({ userId: 'ada', event: 'Something Else' })
    client.analytics.track({ userId: 'ada', event: 'order completed' })

    const lines = toHaveTracked(client, 'Order Completed').message().split('\n')

    expect(lines.find((line) => line.startsWith('  track'))).toContain('order completed')
  })

  test('says when nothing was sent', () => {
    expect(toHaveTracked(createTestClient(), 'Order Completed').message()).toContain(
      'nothing was sent at all',
    )
  })

  test('shows what a matcher object expects, and shortens what is long', () => {
    const partial = { properties: { total: expect.any(String), note: 'x'.repeat(500) } }

    const message = toHaveTracked(createShop(), 'Order Completed', partial).message()

    expect(message).toContain('properties.total: expected Any<String>, got 42.5')
    expect(Math.max(...message.split('\n').map((line) => line.length))).toBeLessThan(200)
  })

  test('of a negated one lists what was sent', () => {
    expect(toHaveTracked(createShop(), 'Order Completed').message()).toContain(
      'expected no track call of \'Order Completed\'; it was there 2 times:\n  track Order Completed {"userId":"ada"',
    )
  })
})

test('what is no test client, no part and no name is refused', () => {
  expect(() => toHaveTracked({}, 'Order Completed')).toThrow('createTestClient')
  expect(() => toHaveTracked(undefined, 'Order Completed')).toThrow('createTestClient')
  expect(() => toHaveTracked(createShop(), 'Order Completed', 'ada')).toThrow('a part of a message')
  expect(() => toHaveTracked(createShop(), { event: 'Order Completed' } as never)).toThrow(
    'the name of an event',
  )
})
