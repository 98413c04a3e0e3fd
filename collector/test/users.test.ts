import { expect, test } from 'vitest'
import type { Collector } from '../src/index.ts'
import type { UserDetail, UsersPage } from '../src/store/query-results.ts'
import { openCollector, post, track } from './support.ts'

const ask = async <T>({ url }: Collector, path: string) =>
  (await (await fetch(`${url}/api/${path}`)).json()) as T

const send = (collector: Collector, ...batch: object[]) =>
  post(collector, '/v1/batch', { batch: batch.map((fields) => track({ userId: undefined, ...fields })) })

/** The number in the list, in the detail, and the events in the timeline, for each person. */
async function numbersOf(collector: Collector) {
  const { users } = await ask<UsersPage>(collector, 'users')
  const numbers: Record<string, number[]> = {}
  for (const { id, count } of users) {
    const detail = await ask<UserDetail>(collector, `users/${encodeURIComponent(id)}?limit=1000`)
    numbers[id] = [count, detail.count, detail.events.length]
  }
  return numbers
}

test('an anonymousId belongs to the user with whom it was seen, with one number on every screen', async () => {
  const collector = await openCollector()

  await send(collector, { anonymousId: 'a-1' }, { anonymousId: 'a-1' }, { anonymousId: 'a-2' })
  await send(collector, { type: 'identify', userId: 'ada', anonymousId: 'a-1' }, { userId: 'ada' })
  await send(collector, { anonymousId: 'a-1' }, { userId: 'bob', anonymousId: 'a-1' }, { anonymousId: 'a-1' })

  expect(await numbersOf(collector)).toEqual({ ada: [6, 6, 6], 'a-2': [1, 1, 1], bob: [1, 1, 1] })
  expect(await ask<UserDetail>(collector, 'users/a-1')).toMatchObject({
    userIds: ['ada'],
    anonymousIds: ['a-1'],
    links: [{ from: 'a-1', to: 'ada', by: 'identify' }],
  })
})

test('an alias moves an id and its events to another, also those to come', async () => {
  const collector = await openCollector()

  await send(collector, { userId: 'old' }, { anonymousId: 'a-1' }, { userId: 'old', anonymousId: 'a-2' })
  await send(collector, { type: 'alias', userId: 'new', previousId: 'old' })
  await send(collector, { type: 'alias', userId: 'new', previousId: 'a-1' })
  await send(collector, { userId: 'old' }, { anonymousId: 'a-1' }, { anonymousId: 'a-2' })

  expect(await numbersOf(collector)).toEqual({ new: [8, 8, 8] })
  expect(['old', 'new', 'none'].map((id) => collector.count({ userId: id }))).toEqual([3, 2, 0])
})

test('an anonymousId that is also a userId takes nobody’s events', async () => {
  const collector = await openCollector()

  await send(collector, { userId: 'eve', anonymousId: 'ada' }, { userId: 'ada' })

  expect(await numbersOf(collector)).toEqual({ eve: [1, 1, 1], ada: [1, 1, 1] })
})

test('the timeline by the time of the events is whole, page by page', async () => {
  const collector = await openCollector()
  const timestamp = (index: number) =>
    new Date(Date.UTC(2026, 0, 1) + ((index * 7) % 250) * 1000).toISOString()
  await send(
    collector,
    ...Array.from({ length: 250 }, (_, index) => ({ userId: 'ada', timestamp: timestamp(index) })),
  )

  const times: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: UserDetail = await ask(
      collector,
      `users/ada?by=timestamp&order=oldest&limit=100&cursor=${cursor}`,
    )
    times.push(...page.events.map((event) => event.timestamp))
    cursor = page.next
  }

  expect(times).toHaveLength(250)
  expect(times).toEqual(times.toSorted())
})

test('a person is found by a part of an id or of a trait', async () => {
  const collector = await openCollector()
  await send(
    collector,
    { type: 'identify', userId: 'u-1', traits: { name: 'Zoë Ärmel', email: 'zoe@example.com' } },
    { userId: 'u-2', anonymousId: 'cookie-77' },
  )
  const found = async (q: string) =>
    (await ask<UsersPage>(collector, `users?q=${encodeURIComponent(q)}`)).users.map(({ id }) => id)

  expect(await found('zoe@')).toEqual(['u-1'])
  expect(await found('ärmel')).toEqual(['u-1'])
  expect(await found('cookie')).toEqual(['u-2'])
  expect(await found('u-')).toEqual(['u-2', 'u-1'])
  expect(await found('nobody')).toEqual([])
})

test('a person has the newest name and the newest address, each of its own event', async () => {
  const collector = await openCollector()
  await send(
    collector,
    { type: 'identify', userId: 'u-1', traits: { name: 'Zoë', email: 'old@example.com' } },
    { type: 'identify', userId: 'u-1', traits: { name: ' ', email: 'new@example.com' } },
  )

  expect((await ask<UsersPage>(collector, 'users')).users).toMatchObject([
    { name: 'Zoë', email: 'new@example.com' },
  ])
})
