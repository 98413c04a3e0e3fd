import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { newEvent, newRequest } from '../../src/conformance/new-event.ts'
import { summaryOf } from '../../src/store/summary.ts'
import { Writer } from '../../src/store/writing/writer.ts'
import { systemClock } from '../../src/system-clock.ts'
import { fakeClock } from '../support.ts'

function open() {
  const clock = fakeClock()
  const commits: Array<[events: number, requests: number]> = []
  let seq = 0
  const writer = new Writer({
    commit: ({ groups, requests }) => {
      const events = groups.flatMap((group) => group.events)
      commits.push([events.length, requests.length])
      return events.map((event) => summaryOf(++seq, null, event, []))
    },
    isDataError: () => false,
    isTransient: () => false,
    commitsAtATime: 1,
    restMs: 4,
    onCommit: () => {},
    onFault: () => {},
    opening: 1,
    clock,
  })
  const append = (count: number) => {
    for (let index = 0; index < count; index++) void writer.append([newEvent(`m${index}`)])
  }
  const turns = async (count = 3) => {
    for (let turn = 0; turn < count; turn++) await nextTurn()
  }
  return { clock, commits, writer, append, turns }
}

test('a few appends are committed immediately, without a rest between commits', async () => {
  const { commits, append, turns } = open()

  for (let round = 0; round < 5; round++) {
    append(3)
    await turns()
  }

  expect(commits).toEqual(Array(5).fill([3, 0]))
})

test('while many appends arrive, there is a rest between commits, and the next commit includes all appends that arrived during the rest', async () => {
  const { clock, commits, append, turns } = open()
  append(10)
  await turns()

  for (let ms = 1; ms <= 3; ms++) {
    append(5)
    await turns()
    clock.advance(1)
  }
  await turns()
  expect(commits).toEqual([[10, 0]])
  append(5)
  clock.advance(1)
  await turns()

  expect(commits).toEqual([
    [10, 0],
    [20, 0],
  ])
})

test('the rest ends early if no append arrives for 1 ms, because then probably all clients wait for the commit', async () => {
  const { clock, commits, append, turns } = open()
  append(10)
  await turns()
  append(10)
  clock.advance(1)
  await turns()

  append(1)
  await turns()
  expect(commits).toEqual([[10, 0]])
  clock.advance(1)
  clock.advance(1)

  expect(commits).toEqual([
    [10, 0],
    [11, 0],
  ])
})

test('commits of the maximum size follow each other without a rest', async () => {
  const { commits, writer, turns } = open()
  const events = Array.from({ length: 400 }, (_, index) => newEvent(`m${index}`))

  const all = Promise.all(Array.from({ length: 12 }, () => writer.append(events)))
  await turns(12)

  expect(commits.map(([count]) => count)).toEqual(Array(6).fill(800))
  expect((await all).map(({ length }) => length)).toEqual(Array(12).fill(400))
})

test('a paused writer writes nothing, and writes everything when it is resumed or closed', async () => {
  const { commits, writer, append, turns } = open()
  append(2)
  writer.hold()
  append(3)
  await turns()
  expect(commits).toEqual([])

  writer.resume()
  await turns()
  expect(commits).toEqual([[5, 0]])
  writer.hold()
  append(1)
  await writer.close()
  expect(commits).toEqual([
    [5, 0],
    [1, 0],
  ])
})

test('the first request is written at once, and later requests a few times a second', async () => {
  const { clock, commits, writer, append, turns } = open()
  const appendRequest = () => writer.requests.append(newRequest(writer.requests.nextId()))
  appendRequest()
  await turns()
  for (let round = 0; round < 10; round++) {
    appendRequest()
    append(1)
    await turns()
  }
  expect(commits).toEqual([[0, 1], ...Array(10).fill([1, 0])])

  clock.advance(200)
  await turns()

  expect(commits.at(-1)).toEqual([0, 10])
})

test('many requests are written in several commits, each with at most 1,000 requests', async () => {
  const { commits, writer, turns } = open()
  for (let index = 0; index < 2500; index++) {
    writer.requests.append(newRequest(writer.requests.nextId()))
  }
  await turns(6)

  expect(commits).toEqual([
    [0, 1000],
    [0, 1000],
    [0, 500],
  ])
})

test('the queue for the database is limited by the size of the events, and has room again when they are written', async () => {
  let commit = () => {}
  const held = new Promise<void>((resolve) => {
    commit = resolve
  })
  let written = 0
  const writer = new Writer({
    commit: async ({ groups }) => {
      await held
      written += groups.reduce((sum, { events }) => sum + events.length, 0)
      return []
    },
    isDataError: () => false,
    isTransient: () => false,
    commitsAtATime: 2,
    restMs: 0,
    onCommit: () => {},
    onFault: () => {},
    opening: 1,
    clock: systemClock,
  })
  // All 200 events refer to this one string, so they need little memory.
  const large = newEvent('', { messageId: null, body: 'x'.repeat(1024 * 1024) })

  const results = Promise.allSettled(Array.from({ length: 200 }, () => writer.append([large])))
  commit()
  const refused = (await results).filter(({ status }) => status === 'rejected')

  expect([written, refused.length]).toEqual([128, 72])
  await writer.append([large])
  expect(written).toBe(129)
})
