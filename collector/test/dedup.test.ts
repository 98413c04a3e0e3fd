import { expect, test } from 'vitest'
import type { Collector } from '../src/index.ts'
import { newDatabaseFile } from './support/process.ts'
import { basic, openCollector, post, track } from './support.ts'

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

test('F117: after a restart, and after a deletion, an id is known as long as its event is stored', async () => {
  const store = newDatabaseFile()
  const first = await openCollector({ store, keep: 3 })
  const send = async (collector: Collector, ...ids: string[]) => {
    await post(collector, '/v1/batch', { batch: ids.map((messageId) => track({ messageId })) })
    return collector
      .events({ order: 'newest', limit: ids.length })
      .map(({ reason }) => reason)
      .reverse()
  }
  await send(first, 'a', 'b')
  await first.close()
  const collector = await openCollector({ store, keep: 3 })

  expect(await send(collector, 'a')).toEqual(['duplicate'])
  // The first a goes.
  expect(await send(collector, 'c')).toEqual([null])
  expect(await send(collector, 'b', 'a')).toEqual(['duplicate', null])
  await fetch(`${collector.url}/api/events`, { method: 'DELETE' })
  expect(await send(collector, 'a')).toEqual([null])
  const [chosen] = collector.events({ order: 'newest', limit: 1 })
  await post(collector, '/api/events/delete', { ids: [chosen?.id] })
  expect(await send(collector, 'a')).toEqual([null])
})
