import { expect, onTestFinished, test } from 'vitest'
import { newEvent, newRequest } from '../../../collector/src/conformance/new-event.ts'
import type { DeadLetter } from '../../../collector/src/log/ports.ts'
import { type EventGroup, type NewEvent, RefusedError } from '../../../collector/src/store/ports.ts'
import { systemClock } from '../../../collector/src/system-clock.ts'
import { encode, encodeRequests } from '../../src/log/codec.ts'
import { LogConsumer } from '../../src/log/log-consumer.ts'
import type { LogMessage, ReadableLog } from '../../src/log/ports.ts'

/** A log and a store in memory. The log redelivers messages for which the consumer has called `retryAfter`. */
function open(refuses: (event: NewEvent) => boolean = () => false) {
  const queue: Uint8Array[] = []
  const waiters: Array<() => void> = []
  const deadLetters: Array<{ key: string | undefined; payload: Uint8Array; reason: string }> = []
  const kept = new Map<string, readonly NewEvent[]>()
  const calls: number[] = []
  const requests: unknown[] = []
  const state = {
    isUnavailable: false,
    isFull: false,
    held: 0,
    /** The number of commits at each report that a message is in progress. */
    working: [] as number[],
    retries: [] as number[],
    retried: new Set<Uint8Array>(),
    takeRequests: (_: Uint8Array) => {},
  }
  let isClosed = false
  const offer = (...payloads: Uint8Array[]) => {
    queue.push(...payloads)
    for (const wake of waiters.splice(0)) wake()
  }
  const take = async (limit: number): Promise<LogMessage[]> => {
    while (queue.length === 0 && !isClosed) await new Promise<void>((resolve) => waiters.push(resolve))
    if (isClosed) return []
    return queue.splice(0, limit).map((payload) => {
      state.held++
      return {
        payload,
        done: () => void state.held--,
        working: () => void state.working.push(calls.length),
        retryAfter: (ms) => {
          state.retries.push(ms)
          state.retried.add(payload)
          // In another turn, since immediate redelivery would block everything else.
          setImmediate(() => {
            state.held--
            offer(payload)
          })
        },
      }
    })
  }
  const log = {
    subscribe: () => ({
      take,
      close: async () => {
        isClosed = true
        for (const wake of waiters.splice(0)) wake()
      },
    }),
    onRequests: (run: (payload: Uint8Array) => void) => {
      state.takeRequests = run
    },
    deadLetters: {
      add: async (key: string | undefined, payload: Uint8Array, reason: string) => {
        if (state.isFull) throw new Error('the dead letters are full')
        deadLetters.push({ key, payload, reason })
      },
      list: async (): Promise<DeadLetter[]> => [],
      retry: async () => 0,
      discard: async () => 0,
    },
  } satisfies ReadableLog
  const appendOnce = async (groups: readonly EventGroup[]) => {
    calls.push(groups.length)
    if (state.isUnavailable) throw new Error('the store is unavailable')
    if (groups.flatMap(({ events }) => events).some(refuses)) throw new RefusedError('not these data')
    for (const { key, events } of groups) if (!kept.has(key)) kept.set(key, events)
  }
  const store = {
    log: { appendOnce, append: async () => [] },
    requests: { append: (request: unknown) => void requests.push(request), nextId: () => '' },
  }
  const faults: string[] = []
  // Pauses end at once; `state.retries` has their lengths.
  const clock = { ...systemClock, setTimer: (run: () => void) => systemClock.setTimer(run, 0) }
  const consumer = new LogConsumer({ log, store, clock, onFault: (what) => faults.push(what) })
  consumer.start()
  onTestFinished(() => consumer.close())
  const ids = () => [...kept.values()].flat().map(({ messageId }) => messageId)
  return { offer, queue, deadLetters, kept, ids, calls, requests, state, faults, consumer }
}

const message = (...ids: string[]) => encode(ids.map((id) => newEvent(id)))[0]?.payload ?? Buffer.alloc(0)
/** A message whose first event is unreadable. */
const half = (...ids: string[]) =>
  Buffer.from(
    Buffer.from(message(...ids))
      .toString()
      .replace('"receivedAtMs":1000000', '"receivedAtMs":null'),
  )
const isDone = (state: { held: number }, queue: unknown[]) => state.held === 0 && queue.length === 0

test('waiting messages share commits of a limited size', async () => {
  const { offer, ids, calls, state, queue } = open()

  offer(...Array.from({ length: 250 }, (_, index) => message(`a${index}`, `b${index}`)))
  await expect.poll(() => isDone(state, queue)).toBe(true)
  expect(calls).toEqual([100, 100, 50])
  expect(ids()).toHaveLength(500)

  const large = (name: string) => message(...Array.from({ length: 900 }, (_, index) => `${name}${index}`))
  offer(large('c'), large('d'), large('e'), large('f'), large('g'))
  await expect.poll(() => isDone(state, queue)).toBe(true)
  expect(calls.slice(3)).toEqual([2, 2, 1])
})

test('after each commit, the consumer reports messages in progress to the log, so that they are not redelivered', async () => {
  const { offer, calls, state, queue } = open()
  const large = (name: string) => message(...Array.from({ length: 900 }, (_, index) => `${name}${index}`))

  offer(large('a'), large('b'), large('c'), large('d'), large('e'))
  await expect.poll(() => isDone(state, queue)).toBe(true)

  expect(calls).toEqual([2, 2, 1])
  // Three messages wait for the second commit, and one for the third.
  expect(state.working).toEqual([1, 1, 1, 2])
})

test('the store gets the same key for a redelivered message, also together with others', async () => {
  const { offer, ids, kept, state, queue } = open()
  const [a, b] = [message('a'), message('b')]

  offer(a, a, b)
  await expect.poll(() => isDone(state, queue)).toBe(true)
  offer(b, a)
  await expect.poll(() => isDone(state, queue)).toBe(true)

  expect(kept.size).toBe(2)
  expect(ids()).toEqual(['a', 'b'])
})

test('only the event that the store refuses becomes a dead letter, wherever it is in a message', async () => {
  for (const poison of [[0], [6], [11], [0, 1], [0, 5, 11], [...Array(12).keys()]]) {
    const { offer, ids, deadLetters, state, queue } = open(({ messageId }) =>
      poison.includes(Number(messageId)),
    )
    const all = Array.from({ length: 12 }, (_, index) => String(index))

    offer(message(...all.slice(0, 5)), message('5'), message(...all.slice(6)))
    await expect.poll(() => isDone(state, queue)).toBe(true)

    expect(ids()).toEqual(all.filter((id) => !poison.includes(Number(id))))
    expect(deadLetters).toHaveLength(poison.length)
    expect(new Set(deadLetters.map(({ key }) => key)).size).toBe(poison.length)
    expect(new Set(deadLetters.map(({ reason }) => reason))).toEqual(new Set(['not these data']))
  }
})

test('while no dead letter can be stored, valid events are written, and refused ones stay in the log', async () => {
  const { offer, kept, ids, deadLetters, state, queue, faults } = open(
    ({ messageId }) => messageId === 'poison',
  )
  state.isFull = true
  const poisoned = message('b', 'poison', 'c')
  const garbage = Buffer.from('garbage')
  const broken = half('e', 'f')
  offer(message('a'), poisoned, garbage, message('d'), broken)
  await expect.poll(() => ids().sort()).toEqual(['a', 'b', 'c', 'd', 'f'])
  // Three messages are redelivered many times, and block nothing.
  await expect.poll(() => state.retries.length).toBeGreaterThan(6)
  expect(state.retried).toEqual(new Set([garbage, poisoned, broken]))
  expect(new Set(state.retries)).toEqual(new Set([15_000]))
  expect(deadLetters).toEqual([])
  expect(new Set(faults)).toEqual(
    new Set(['an event can be neither written nor stored as a dead letter, and waits in the log']),
  )

  state.isFull = false
  await expect.poll(() => deadLetters.length).toBe(3)
  await expect.poll(() => isDone(state, queue)).toBe(true)

  expect([...kept.values()].flat()).toHaveLength(5)
  expect(deadLetters.map(({ reason }) => reason)).toContain('not these data')
})

test('a redelivered message with a refused event leaves no duplicates', async () => {
  const { offer, ids, deadLetters, state, queue } = open(({ messageId }) => messageId === 'b')
  const one = message('a', 'b', 'c')
  offer(one)
  await expect.poll(() => isDone(state, queue)).toBe(true)

  offer(one)
  await expect.poll(() => isDone(state, queue)).toBe(true)

  expect(ids()).toEqual(['a', 'c'])
  expect(new Set(deadLetters.map(({ key }) => key)).size).toBe(1)
})

test('while the store is unavailable, waits grow, and nothing becomes a dead letter', async () => {
  const { offer, ids, deadLetters, state, queue, faults } = open()
  state.isUnavailable = true
  offer(message('a'), message('b'))

  await expect.poll(() => state.retries.length).toBeGreaterThan(14)
  expect([...new Set(state.retries)]).toEqual([250, 500, 1000, 2000, 4000, 5000])
  state.isUnavailable = false
  await expect.poll(() => isDone(state, queue)).toBe(true)

  expect(ids().sort()).toEqual(['a', 'b'])
  expect(deadLetters).toEqual([])
  expect(faults).toContain('events of the log cannot be written')
})

test('an unreadable event becomes a dead letter, and the events around it are stored', async () => {
  const { offer, ids, deadLetters, state, queue } = open()

  offer(message('a'), Buffer.from('garbage'), half('b', 'c'), Buffer.alloc(0))
  await expect.poll(() => isDone(state, queue)).toBe(true)

  expect(ids()).toEqual(['a', 'c'])
  expect(deadLetters.map(({ reason }) => reason).sort()).toEqual([
    'the field receivedAtMs of an event is missing or of another type',
    'the message was not written by a collector of this version',
    'the message was not written by a collector of this version',
  ])
})

test('requests are passed to the store, garbage is not', async () => {
  const { state, requests } = open()

  for (const payload of encodeRequests([newRequest('1')])) state.takeRequests(payload)
  state.takeRequests(Buffer.from('garbage'))

  expect(requests).toEqual([newRequest('1')])
})

test('a close waits for the current write, and ends a pause', async () => {
  const { offer, consumer, state, ids } = open()
  offer(message('a'))
  await expect.poll(() => ids()).toEqual(['a'])
  state.isUnavailable = true
  offer(message('b'))
  await expect.poll(() => state.retries.length).toBeGreaterThan(0)

  await consumer.close()

  // The log takes messages back in a later turn.
  await expect.poll(() => state.held).toBe(0)
})
