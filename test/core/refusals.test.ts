/** 400 and 422: when bad events stand alone, and when the service refuses everything. @see docs/spec.md, section 8 */
import { expect, test } from 'vitest'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'
import type { Reply } from '../support/scripted-client.ts'

/** Refuses everything, each time with this text. */
function refusal(textOf: (index: number) => string): Reply {
  let index = 0
  return () => {
    const text = textOf(index++)
    return { status: 400, statusText: 'Bad Request', text: async () => text }
  }
}

/** How many events each request carried, for 64 events that are sent one request at a time. */
async function requestsFor(replies: Reply[]): Promise<{ sizes: number[]; outcomes: string[] }> {
  const settings = { maxConcurrentRequests: 1, flushAt: 64, maxEventsInBatch: 64 }
  const { analytics, clock, client } = createAnalytics(settings, replies)
  const { outcomes, callback } = recordOutcomes()
  trackPurchases(analytics, 64, callback)
  await clock.advance(60_000)
  return { sizes: client.requests.map(({ batch }) => batch.length), outcomes }
}

test('after eight events that were refused alone with one text, the rest of the batch fails at once', async () => {
  const { sizes, outcomes } = await requestsFor([refusal(() => 'no such key')])

  expect(sizes).toEqual([64, 32, 16, 8, 4, 2, 1, 1, 2, 1, 1, 4, 2, 1, 1, 2, 1, 1])
  expect(outcomes).toEqual(new Array(64).fill('rejected'))
})

test('after sixteen that were refused alone with changing texts, too', async () => {
  const { sizes, outcomes } = await requestsFor([refusal((index) => `request ${index}`)])

  expect(sizes.filter((size) => size === 1)).toHaveLength(16)
  expect(sizes.at(-1)).toBe(1)
  expect(outcomes).toEqual(new Array(64).fill('rejected'))
})
