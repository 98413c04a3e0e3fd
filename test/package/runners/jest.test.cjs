const { createTestClient, matchers } = require('trackpost/testing')
const matcherCases = require('./matcher-cases.cjs')
const suite = require('./suite.cjs')

suite(test, {
  'real timers': { install() {}, uninstall() {}, count: () => 0 },
  'fake timers of Jest': {
    install: () => jest.useFakeTimers(),
    uninstall: () => jest.useRealTimers(),
    count: () => jest.getTimerCount(),
  },
})

expect.extend(matchers)

test('the matchers', () => {
  const client = createTestClient()
  client.analytics.track({ userId: 'ada', event: 'Order Completed', properties: { total: 42.5 } })
  client.analytics.identify({ userId: 'ada' })

  expect(client).toHaveTracked('Order Completed', { properties: { total: expect.any(Number) } })
  expect(client).not.toHaveTracked('Order Completed', { userId: 'zoe' })
  expect(client).toHaveTrackedTimes(expect.stringMatching(/^Order /), 1)
  expect(client.analytics).toHaveIdentified({ userId: 'ada' })
  const ofAda = expect.objectContaining({ userId: 'ada' })
  expect(client).toHaveTracked('Order Completed', ofAda)
  expect(client).not.toHaveTracked('Order Completed', expect.not.objectContaining({ userId: 'ada' }))
  expect(client.find(ofAda)).toEqual(client.messages)
  expect(() => expect(client).toHavePaged(ofAda)).toThrow('expected page call that matches ObjectContaining')
  expect(() => expect(client).toHaveTracked('Order Complete')).toThrow(
    'event: expected "Order Complete", got "Order Completed"',
  )
  expect(() => expect(client).toHaveTracked('Order Completed', { properties: { total: 43 } })).toThrow(
    'properties.total: expected 43, got 42.5',
  )
})

test.each(matcherCases(expect))('decides as toMatchObject: %s', async (label, value, expected, matches) => {
  const message = { type: 'track', event: 'E', properties: { value } }
  const refused = createTestClient()
  refused.failNext({ status: 400 })
  refused.analytics.track({ userId: 'ada', ...message })
  await refused.analytics.flush()
  const partial = { properties: { value: expected } }
  const passes = (check) => {
    try {
      check()
      return true
    } catch {
      return false
    }
  }

  const byRunner = passes(() => expect(message).toMatchObject(partial))
  const isTracked = passes(() => expect([message]).toHaveTracked('E', partial))
  const isNotTracked = passes(() => expect([message]).not.toHaveTracked('E', partial))
  const isFailed = passes(() => expect(refused).toHaveFailed('E', partial))
  const isNotFailed = passes(() => expect(refused).not.toHaveFailed('E', partial))
  const isWhole = passes(() => expect(message).toEqual({ type: 'track', event: 'E', ...partial }))
  const byMatcherAlone = matchers.toHaveTracked([message], 'E', partial).pass

  expect(byRunner).toBe(matches !== false)
  expect([isTracked, isNotTracked]).toEqual([byRunner, !byRunner])
  expect([isFailed, isNotFailed]).toEqual([byRunner, !byRunner])
  expect(byMatcherAlone).toBe(matches === true)
  // Only toEqual takes an undefined key for a missing one.
  if (isWhole && !label.includes('undefined')) expect(isTracked).toBe(true)
})
