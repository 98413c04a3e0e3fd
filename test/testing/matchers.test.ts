import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { createTestClient, matchers } from '../../src/testing.ts'

/** Jest decides these cases, too: test/package/runners/jest.test.cjs. */
const matcherCases: (
  given: typeof expect,
) => [label: string, value: unknown, expected: unknown, matches: unknown][] = createRequire(import.meta.url)(
  './matcher-cases.cjs',
)

expect.extend(matchers)

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

const {
  toHaveTracked,
  toHaveTrackedTimes,
  toHaveIdentified,
  toHavePaged,
  toHaveScreened,
  toHaveGrouped,
  toHaveAliased,
  toHaveFailed,
} = matchers

describe('a matcher passes', () => {
  test.each([
    ['with the name alone', toHaveTracked(createShop(), 'Order Completed')],
    ['with a part of the message', toHaveTracked(createShop(), 'Order Completed', { userId: 'zoe' })],
    [
      'with asymmetric matchers',
      toHaveTracked(createShop(), 'Order Completed', {
        messageId: expect.stringMatching(/^[\w-]{36}$/),
        properties: expect.objectContaining({ total: expect.closeTo(42.5) }),
      }),
    ],
    [
      'with a matcher for the whole message',
      toHaveTracked(createShop(), 'Order Completed', expect.objectContaining({ userId: 'zoe' })),
    ],
    ['with a matcher instead of the name', toHaveTracked(createShop(), expect.stringMatching(/^Order /))],
    ['with the right number of messages', toHaveTrackedTimes(createShop(), 'Order Completed', 2)],
    [
      'with the right number of messages that have a property',
      toHaveTrackedTimes(createShop(), 'Order Completed', 1, { userId: 'zoe' }),
    ],
    ['with 0, when there are none', toHaveTrackedTimes(createShop(), 'Signed Up', 0)],
    ['for identify', toHaveIdentified(createShop(), { traits: { plan: 'pro' } })],
    ['for page', toHavePaged(createShop(), { name: 'Pricing' })],
    ['for screen', toHaveScreened(createShop(), { name: 'Basket' })],
    ['for group', toHaveGrouped(createShop(), { groupId: 'engines' })],
    ['for alias', toHaveAliased(createShop(), { previousId: 'v-17' })],
    ['with the Analytics object', toHaveTracked(createShop().analytics, 'Order Completed')],
    ['with a list of messages', toHaveTracked(createShop().find({ userId: 'zoe' }), 'Order Completed')],
  ])('%s', (_label, result) => {
    expect(result.pass).toBe(true)
  })
})

describe('a matcher fails', () => {
  test.each([
    ['with another name', toHaveTracked(createShop(), 'Signed Up')],
    [
      'when no single message has all properties',
      toHaveTracked(createShop(), 'Order Completed', { userId: 'zoe', properties: { total: 42.5 } }),
    ],
    ['with a matcher that matches no name', toHaveTracked(createShop(), expect.stringMatching(/^Basket /))],
    ['with a number that is too small', toHaveTrackedTimes(createShop(), 'Order Completed', 1)],
    ['with a number that is too large', toHaveTrackedTimes(createShop(), 'Order Completed', 3)],
    ['with a field that is absent', toHaveAliased(createShop(), { anonymousId: 'v' })],
    ['when only a screen has the name of the page', toHavePaged(createShop(), { name: 'Basket' })],
    ['with an empty client', toHaveGrouped(createTestClient())],
  ])('%s', (_label, result) => {
    expect(result.pass).toBe(false)
  })
})

test.each(matcherCases(expect))('decides as toMatchObject: %s', (_label, value, expected, matches) => {
  const message = { type: 'track', event: 'E', properties: { value } }
  const partial = { properties: { value: expected } } as never
  const byRunner = toMatchObject(message, partial)

  expect(byRunner).toBe(matches !== false)
  if (byRunner) expect([message]).toHaveTracked('E', partial)
  else expect([message]).not.toHaveTracked('E', partial)
  // Without a runner.
  expect(toHaveTracked([message], 'E', partial).pass).toBe(matches === true)
})

function toMatchObject(message: object, partial: object): boolean {
  try {
    expect(message).toMatchObject(partial)
    return true
  } catch {
    return false
  }
}

describe('the message of a failed matcher', () => {
  test('shows the nearest events, with their differences, nearest first', () => {
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

  test('suggests a name when one was misspelt', () => {
    const client = createTestClient()
    client.analytics.track({ userId: 'ada', event: 'Something Else' })
    client.analytics.track({ userId: 'ada', event: 'order completed' })

    const lines = toHaveTracked(client, 'Order Completed').message().split('\n')

    expect(lines.find((line) => line.startsWith('  track'))).toContain('order completed')
  })
})

describe('toHaveFailed', () => {
  async function createRefused() {
    const client = createTestClient<Events>()
    client.failNext({ status: 400 })
    client.analytics.track({ userId: 'ada', event: 'Order Completed', properties: { total: 42.5 } })
    client.analytics.track({ userId: 'zoe', event: 'Order Completed', properties: { total: 7 } })
    await client.analytics.flush()
    return client
  }

  test('finds an event that failed, by its name, its code and its values', async () => {
    const client = await createRefused()

    expect(client).toHaveFailed('Order Completed')
    expect(client.analytics).toHaveFailed(expect.stringMatching(/^Order /), { code: 'rejected' })
    expect(client).toHaveFailed('Order Completed', { code: 'rejected', properties: { total: 42.5 } })
    expect(client).not.toHaveFailed('Signed Up')
    expect(client).not.toHaveFailed('Order Completed', { code: 'auth' })
    expect(client).not.toHaveFailed('Order Completed', { userId: 'zoe' })
  })

  test('an event that the service refused does not count as tracked', async () => {
    const client = await createRefused()

    expect(client).toHaveTrackedTimes('Order Completed', 1)
    expect(client).not.toHaveTracked('Order Completed', { userId: 'ada' })
  })

  test('shows the failures that there were', async () => {
    const { pass, message } = toHaveFailed(await createRefused(), 'Order Completed', { code: 'auth' })

    expect(pass).toBe(false)
    expect(message()).toContain("expected failed track call of 'Order Completed'")
    expect(message()).toContain(
      'failed:\n  track Order Completed {"code":"rejected","userId":"ada","properties":{"total":42.5}}',
    )
    expect(message()).toContain('code: expected "auth", got "rejected"')
  })

  test('throws while an event has no outcome, and for a list of messages', async () => {
    const client = createTestClient<Events>()
    client.analytics.track({ userId: 'ada', event: 'Signed Up' })

    expect(() => expect(client).not.toHaveFailed('Signed Up')).toThrow(
      /^cannot decide yet: 1 event has no outcome; [\s\S]+\nnothing has failed$/,
    )
    expect(() => toHaveFailed([], 'Signed Up')).toThrow('expected a test client or its analytics')
    await client.analytics.flush()

    expect(client).not.toHaveFailed('Signed Up')
  })
})

describe('while an event is inside a plugin', () => {
  async function createSlow() {
    const client = createTestClient()
    let answer: (() => void) | undefined
    const asked = new Promise<void>((resolve) => {
      answer = resolve
    })
    await client.analytics.register({
      name: 'consent',
      type: 'before',
      track: async (ctx) => {
        await asked
        return ctx.event.userId === 'ada' ? null : ctx
      },
    })
    return { ...client, answer: () => answer?.() }
  }

  test.each(['the client', 'its analytics', 'its messages'])(
    'a matcher that gets %s throws, since it cannot decide',
    async (what) => {
      const client = await createSlow()
      client.analytics.on('error', () => {})
      client.analytics.track({ userId: 'ada', event: 'Signed Up' })
      const given =
        what === 'the client' ? client : what === 'its analytics' ? client.analytics : client.messages
      const undecided =
        'cannot decide yet: 1 event has neither been sent nor dropped; write `await client.analytics.flush()`'

      expect(() => expect(given).not.toHaveTracked('Signed Up')).toThrow(undecided)
      expect(() => expect(given).toHaveTracked('Signed Up')).toThrow(undecided)
      expect(() => expect(given).toHaveTrackedTimes('Signed Up', 0)).toThrow(undecided)
      expect(() => expect(given).not.toHaveTrackedTimes('Signed Up', 1)).toThrow(undecided)
      expect(() => expect(given).not.toHaveIdentified()).toThrow(undecided)
      client.answer()
      await client.analytics.flush()

      expect(given).not.toHaveTracked('Signed Up')
      expect(given).toHaveTrackedTimes('Signed Up', 0)
    },
  )

  test('a message that is already sent is found', async () => {
    const client = await createSlow()
    client.analytics.identify({ userId: 'zoe' })
    client.analytics.track({ userId: 'zoe', event: 'Signed Up' })

    expect(client).toHaveIdentified({ userId: 'zoe' })
    client.answer()
    await client.analytics.flush()

    expect(client).toHaveTracked('Signed Up')
  })

  test('an event that has passed the plugins is found, although it has no outcome yet', async () => {
    const client = createTestClient({ flushAt: 100 })
    client.analytics.track({ userId: 'ada', event: 'Signed Up' })

    expect(client.analytics.stats.pending).toBe(1)
    expect(client).toHaveTracked('Signed Up')
    expect(client).not.toHaveTracked('Order Completed')
    await client.analytics.flush()
  })
})

describe('in Vitest', () => {
  test('custom equality testers are used', () => {
    class Money {
      constructor(readonly cents: number) {}
    }
    expect.addEqualityTesters([
      (one, other) => (other instanceof Money ? one === `${other.cents / 100}` : undefined),
    ])
    const client = createTestClient()
    client.analytics.track({ userId: 'ada', event: 'E', properties: { total: '42.5' } })

    expect(client).toHaveTracked('E', { properties: { total: new Money(4_250) } })
    expect(client).not.toHaveTracked('E', { properties: { total: new Money(4_300) } })
  })
})

test.each([-1, 1.5, Number.NaN, '1', undefined])('%o is not a number of times', (times) => {
  expect(() => toHaveTrackedTimes(createShop(), 'Order Completed', times as number)).toThrow('how many times')
})

test('the error texts of a test client are not redacted: none contains its write key', async () => {
  const { analytics, failNext } = createTestClient()
  failNext({ status: 400 })

  await expect(analytics.promises.track({ userId: 'ada', event: 'E' })).rejects.toThrow(
    'as the test asked for',
  )
})

test('anything but a test client, the name of an event and a part of a message is refused', () => {
  expect(() => toHaveTracked({}, 'Order Completed')).toThrow('createTestClient')
  expect(() => toHaveTracked(undefined, 'Order Completed')).toThrow('createTestClient')
  expect(() => toHaveTracked(createShop(), 'Order Completed', 'ada')).toThrow('a part of a message')
  expect(() => toHaveTracked(createShop(), { event: 'Order Completed' } as never)).toThrow(
    'the name of an event',
  )
})
