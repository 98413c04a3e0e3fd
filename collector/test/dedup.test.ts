import { expect, test } from 'vitest'
import { basic, fakeClock, openCollector, post, track } from './support.ts'

test('F118: an event with a known id but other content is a dedup_conflict, and the first event stays', async () => {
  const collector = await openCollector()

  await post(collector, '/v1/batch', {
    batch: [track({ messageId: 'x', event: 'First' }), track({ messageId: 'x', event: 'Second' })],
  })

  expect(collector.events().map(({ name, reason }) => [name, reason])).toEqual([
    ['First', null],
    ['Second', 'dedup_conflict'],
  ])
})

test('a single message that is sent again with a new sentAt is a duplicate, not a conflict', async () => {
  const collector = await openCollector()
  const message = track({ messageId: 'x' })

  await post(collector, '/v1/track', { ...message, sentAt: '2026-05-17T10:00:00Z' })
  await post(collector, '/v1/track', { ...message, sentAt: '2026-05-17T10:00:07Z' })

  expect(collector.events()[1]?.reason).toBe('duplicate')
})

test('each source has its own ids, and a rejected message does not use up its id', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', { userId: 'u', messageId: 'x' })

  await post(collector, '/v1/track', track({ messageId: 'x' }))
  await post(collector, '/v1/track', track({ messageId: 'x' }), { authorization: basic('other') })

  expect(collector.events().map(({ reason }) => reason)).toEqual(['no_event', null, null])
})

test('F116: each of 500 ids posted twenty times at once is accepted exactly once', async () => {
  const collector = await openCollector()
  const batch = Array.from({ length: 500 }, (_, index) => track({ messageId: `race-${index}` }))

  await Promise.all(Array.from({ length: 20 }, () => post(collector, '/v1/batch', { batch })))

  const accepted = collector.events({ status: 'accepted' }).map(({ messageId }) => messageId)
  expect(accepted).toHaveLength(500)
  expect(new Set(accepted).size).toBe(500)
  expect(collector.count({ reason: 'duplicate' })).toBe(19 * 500)
})

test('F117: after the deduplication window, an id is accepted again', async () => {
  const clock = fakeClock()
  const collector = await openCollector({ clock: clock, config: { dedupWindow: 1 } })
  const batch = Array.from({ length: 400 }, (_, index) => track({ messageId: `w-${index}` }))
  const send = async () => {
    await post(collector, '/v1/batch', { batch })
    return collector.count({ status: 'accepted' })
  }
  await send()

  clock.advance(999)
  expect(await send()).toBe(400)
  clock.advance(1)
  expect(await send()).toBe(800)
})
