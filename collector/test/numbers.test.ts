import { expect, test } from 'vitest'
import type { Catalogue } from '../src/catalogue/answer.ts'
import type { Collector } from '../src/index.ts'
import type { Overview, Problems, RequestsPage } from '../src/store/query-results.ts'
import { openCollector, post, track } from './support.ts'

const ask = async <T>({ url }: Collector, path: string) =>
  (await (await fetch(`${url}/api/${path}`)).json()) as T

test('a repeat is neither accepted nor lost, and has one number on every screen', async () => {
  const collector = await openCollector()
  const [first, second] = [track(), track()]
  await post(collector, '/v1/batch', { batch: [first, second, first, first, track({ event: '' })] })

  const { accepted, rejected, repeated, byReason, byType, bySource, perSecond } = collector.stats()
  expect({ byReason, byType, bySource }).toEqual({
    byReason: { no_event: 1, duplicate: 2 },
    byType: { track: 5 },
    bySource: { shop: 5 },
  })
  expect({ accepted, rejected, repeated }).toEqual({ accepted: 2, rejected: 1, repeated: 2 })
  const sum = (of: 'accepted' | 'rejected' | 'repeated') => perSecond.reduce((all, one) => all + one[of], 0)
  expect([sum('accepted'), sum('rejected'), sum('repeated')]).toEqual([2, 1, 2])
  const { steps, series } = await ask<Overview>(collector, 'overview')
  expect(steps[1]).toMatchObject({ name: 'accepted', count: 2, lost: 1, repeated: 2 })
  expect(series.at(-1)).toMatchObject({ accepted: 2, rejected: 1, repeated: 2 })
  const { entries } = await ask<Catalogue>(collector, 'catalogue')
  expect(entries.map((one) => [one.accepted, one.rejected, one.repeated])).toEqual([
    [2, 0, 2],
    [0, 1, 0],
  ])
  await expect
    .poll(async () => (await ask<RequestsPage>(collector, 'requests')).requests[0]?.events)
    .toEqual({ total: 5, accepted: 2, rejected: 1, repeated: 2 })
  const counted = (status: 'accepted' | 'rejected' | 'repeated') => collector.count({ status })
  expect([counted('accepted'), counted('rejected'), counted('repeated')]).toEqual([2, 1, 2])
})

test('violations are counted in all events, not in a sample', async () => {
  const plan = { track: { Order: { properties: { total: { type: 'number' } } } } }
  const collector = await openCollector({ plan })
  const order = (total: unknown) => track({ event: 'Order', properties: { total } })
  await post(collector, '/v1/batch', { batch: Array.from({ length: 27 }, () => order('9')) })
  for (let sent = 0; sent < 3; sent++)
    await post(collector, '/v1/batch', { batch: Array.from({ length: 1000 }, () => order(9)) })

  const { entries } = await ask<Catalogue>(collector, 'catalogue')
  const { problems } = await ask<Problems>(collector, 'problems')

  expect(entries).toMatchObject([{ name: 'Order', violations: 27, count: 3027 }])
  expect(problems).toMatchObject([{ kind: 'plan', count: 27, q: 'violation:*' }])
  expect(await ask(collector, 'count?q=violation:*')).toEqual({ count: 27 })
})

test('a count by a path looks at all events', async () => {
  const collector = await openCollector()
  for (let sent = 0; sent < 10; sent++) {
    const batch = Array.from({ length: 1000 }, (_, index) => track({ properties: { n: index % 100 } }))
    await post(collector, '/v1/batch', { batch })
  }

  expect(await ask(collector, 'count?q=properties.n:7')).toEqual({ count: 100 })
})

test('another way to write the same time is no difference between the sent and the stored event', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ timestamp: '2026-05-17T09:30:00Z' }))

  expect(await ask(collector, 'events/1')).toMatchObject({
    sent: { timestamp: '2026-05-17T09:30:00Z' },
    message: { timestamp: '2026-05-17T09:30:00.000Z' },
    difference: { changed: [] },
  })
})
