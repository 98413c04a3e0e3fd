/** A client that is used in another incoming request than its own: docs/spec.md, section 8.3. */
import { expect, test } from 'vitest'
import { createShared } from '../../src/core/service.ts'
import { resolveSettings } from '../../src/settings/resolve.ts'
import { AnalyticsOnClock, WRITE_KEY } from '../support/create-analytics.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { ScriptedClient } from '../support/scripted-client.ts'

test.each([false, true])('refuses every call, and waits for nothing, with strict: %s', async (strict) => {
  const clock = new FakeClock()
  const client = new ScriptedClient(clock)
  const settings = resolveSettings({ writeKey: WRITE_KEY, httpClient: client, strict })
  const owner = { isMine: () => false, isClosed: false }
  const analytics = new AnalyticsOnClock(settings, {
    clock,
    request: { settings, owner, shared: createShared() },
  })
  const warned: string[] = []
  analytics.on('warning', ({ code }) => warned.push(code))
  const codes: unknown[] = []
  const track = (): void => analytics.track({ userId: 'ada', event: 'e' }, (error) => codes.push(error?.code))

  if (strict) expect(track).toThrow('perRequest')
  else track()
  expect(codes).toEqual([])
  await settled()
  expect(codes).toEqual(strict ? [] : ['invalid'])
  await expect(analytics.promises.track({ userId: 'ada', event: 'e' })).rejects.toMatchObject({
    code: 'invalid',
    message: expect.stringContaining('it was made: call perRequest(settings)'),
  })
  const none = { delivered: 0, failed: 0, pending: 0 }
  expect([await analytics.flush(), await analytics.closeAndFlush()]).toEqual([none, none])

  expect(warned).toEqual(['flush', 'flush'])
  expect(client.requests).toEqual([])
  expect([clock.timerCount, clock.holdCount]).toEqual([0, 0])
})
