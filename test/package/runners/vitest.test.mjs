import { createTestClient, matchers } from 'trackpost/testing'
import { expect, test, vi } from 'vitest'
import suite from './suite.cjs'

suite(test, {
  'real timers': { install() {}, uninstall() {}, count: () => 0 },
  'fake timers of Vitest': {
    install: () => vi.useFakeTimers(),
    uninstall: () => vi.useRealTimers(),
    count: () => vi.getTimerCount(),
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
  expect(() => expect(client).toHaveTracked('Order Complete')).toThrow(
    'event: expected "Order Complete", got "Order Completed"',
  )
  expect(() => expect(client).toHaveTracked('Order Completed', { properties: { total: 43 } })).toThrow(
    /- +"total": 43,[\s\S]+\+ +"total": 42.5,/,
  )
})
