import { expect, onTestFinished, test } from 'vitest'
import { EVERYTHING } from '../../src/search/syntax.ts'
import type { DeliveryQueue, EventLog, EventTail, RequestLog } from '../../src/store/ports.ts'
import type { EventReader } from '../../src/store/sqlite/reader.ts'
import { newEvent, newRequest } from '../store/new-event.ts'

/** A store by its ports alone, as one process has it. */
export interface OpenPorts {
  log: EventLog
  requests: RequestLog
  queue: DeliveryQueue
  tail: EventTail
  reader: EventReader
  clear(): void
  close(): Promise<void>
}

/** A store to be tested: each opening after the first is another process on the same data. */
export interface Subject {
  open(): Promise<OpenPorts>
  /** Moves the clock that leases and due times go by. */
  advance(ms: number): void
}

/** What every store must do, whatever it is made of. */
export function describePorts(newSubject: () => Subject): void {
  const openOne = async (subject = newSubject()) => {
    const ports = await subject.open()
    onTestFinished(() => ports.close())
    return ports
  }
  const openTwo = async () => {
    const subject = newSubject()
    return { subject, first: await openOne(subject), second: await openOne(subject) }
  }
  const idsOf = async (reader: EventReader, order: 'oldest' | 'newest' = 'oldest') => {
    const page = await reader.ask('events', { search: EVERYTHING, order, limit: 1000, isFull: false })
    return page.events.map(({ messageId }) => messageId)
  }
  const hook = [{ destination: 'Hook' }]
  const settled = (eventId: string, attempts = 1) => ({
    eventId,
    state: 'delivered' as const,
    reason: null,
    attempts,
    dueAtMs: 0,
  })

  test('append resolves with what became of each event, in order, and they can be read then', async () => {
    const { log, reader } = await openOne()

    const kept = await log.append([newEvent('a'), newEvent('b', { reason: 'no_event' }), newEvent('a')])

    expect(kept.map(({ status, reason }) => [status, reason])).toEqual([
      ['accepted', null],
      ['rejected', 'no_event'],
      ['rejected', 'duplicate'],
    ])
    expect(new Set(kept.map(({ id }) => id)).size).toBe(3)
    expect(await idsOf(reader)).toEqual(['a', 'b', 'a'])
    expect(await log.append([])).toEqual([])
  })

  test('an append of thousands is kept whole and in order', async () => {
    const { log, reader } = await openOne()
    const events = Array.from({ length: 2500 }, (_, index) => newEvent(`m${index}`))

    const kept = await log.append(events)

    expect(kept.map(({ messageId }) => messageId)).toEqual(events.map(({ messageId }) => messageId))
    expect(await reader.ask('count', { search: EVERYTHING })).toEqual({ count: 2500, isComplete: true })
  })

  test('deduplication is exact between two processes that write at the same time', async () => {
    const { first, second } = await openTwo()
    const batch = () => Array.from({ length: 100 }, (_, index) => newEvent(`race-${index}`))

    const all = await Promise.all(
      Array.from({ length: 10 }, (_, turn) => (turn % 2 === 0 ? first : second).log.append(batch())),
    )

    expect(all.flat().filter(({ status }) => status === 'accepted')).toHaveLength(100)
    expect(all.flat().filter(({ reason }) => reason === 'duplicate')).toHaveLength(900)
  })

  test('cursors lead through everything once, in both directions, also while more comes in', async () => {
    const { log, reader } = await openOne()
    await log.append(Array.from({ length: 25 }, (_, index) => newEvent(`m${index}`)))
    for (const order of ['oldest', 'newest'] as const) {
      const seen: Array<string | null> = []
      let place: { after?: number; before?: number } = {}
      for (let hasNext = true; hasNext; ) {
        const query = { search: EVERYTHING, order, limit: 10, isFull: false, ...place }
        const { events, next } = await reader.ask('events', query)
        seen.push(...events.map(({ messageId }) => messageId))
        const last = events.at(-1)?.seq ?? 0
        place = order === 'oldest' ? { after: last } : { before: last }
        hasNext = next !== null
        if (seen.length === 10 && order === 'oldest') {
          await log.append(Array.from({ length: 5 }, (_, index) => newEvent(`late${index}`)))
        }
      }
      expect(seen).toHaveLength(30)
      expect(new Set(seen).size).toBe(seen.length)
    }
  })

  test('a delivery is claimed by one of two processes, and comes back when the lease ends', async () => {
    const { subject, first, second } = await openTwo()
    await first.log.append(
      Array.from({ length: 10 }, (_, index) => newEvent(`m${index}`, { deliveries: hook })),
    )

    const mine = await first.queue.claim('Hook', 6, 1000)
    const others = await second.queue.claim('Hook', 6, 1000)
    const ids = [...mine, ...others].map(({ eventId }) => eventId)

    expect([mine.length, others.length, new Set(ids).size]).toEqual([6, 4, 10])
    expect(await first.queue.claim('Hook', 6, 1000)).toEqual([])
    await first.queue.settle(
      'Hook',
      mine.map(({ eventId }) => settled(eventId)),
    )
    subject.advance(1000)
    const again = await first.queue.claim('Hook', 10, 1000)
    expect(again.map(({ eventId }) => eventId)).toEqual(others.map(({ eventId }) => eventId))
    expect(again.map(({ key }) => key)).toEqual(others.map(({ key }) => key))
  })

  test('what was settled stays so, whoever comes late; what was released is due at once', async () => {
    const { subject, first, second } = await openTwo()
    await first.log.append([newEvent('a', { deliveries: hook }), newEvent('b', { deliveries: hook })])
    const [a, b] = await first.queue.claim('Hook', 2, 1000)
    if (a === undefined || b === undefined) throw new Error('two are due')
    subject.advance(1000)
    await second.queue.claim('Hook', 1, 1000)
    await second.queue.settle('Hook', [settled(a.eventId)])

    await first.queue.settle('Hook', [{ ...settled(a.eventId), state: 'pending', reason: 'late' }])
    await first.queue.release('Hook', [a.eventId, b.eventId])

    expect((await second.queue.claim('Hook', 10, 1000)).map(({ eventId }) => eventId)).toEqual([b.eventId])
  })

  test('a retry waits for its time, and says when that is', async () => {
    const { subject, first } = await openTwo()
    await first.log.append([newEvent('a', { deliveries: hook })])
    const [a] = await first.queue.claim('Hook', 1, 1000)
    const dueAtMs = (await first.queue.nextDueMs('Hook')) ?? 0
    await first.queue.settle('Hook', [
      { ...settled(a?.eventId ?? ''), state: 'pending', reason: 'answered 503', dueAtMs: dueAtMs + 4000 },
    ])

    expect(await first.queue.nextDueMs('Hook')).toBe(dueAtMs + 4000)
    expect(await first.queue.claim('Hook', 1, 1000)).toEqual([])
    subject.advance(5000)
    expect(await first.queue.claim('Hook', 1, 1000)).toMatchObject([{ attempts: 1 }])
    expect(await first.queue.nextDueMs('Other')).toBeUndefined()
  })

  test('what failed can be retried, all of it or some', async () => {
    const { first } = await openTwo()
    const kept = await first.log.append(['a', 'b', 'c'].map((id) => newEvent(id, { deliveries: hook })))
    await first.queue.claim('Hook', 3, 1000)
    await first.queue.settle(
      'Hook',
      kept.map(({ id }) => ({ ...settled(id), state: 'failed', reason: 'answered 404' })),
    )

    expect(await first.queue.retry('Hook', [kept[1]?.id ?? ''])).toBe(1)
    expect(await first.queue.claim('Hook', 3, 1000)).toMatchObject([{ messageId: 'b', attempts: 0 }])
    expect(await first.queue.retry('Hook')).toBe(2)
  })

  test('requests have ids of their own in every process, and lead to their events', async () => {
    const { first, second } = await openTwo()
    const ids = [first, second, first, second].map(({ requests }) => requests.nextId())
    expect(new Set(ids).size).toBe(4)
    const [id = ''] = ids

    await first.log.append([newEvent('a', { requestId: id })])
    first.requests.append(newRequest(id))
    second.requests.append(
      newRequest(ids[1] ?? '', { status: 400, problem: { code: 'invalid_json', message: 'x', offset: 3 } }),
    )

    await expect
      .poll(async () => (await first.reader.ask('request', { id }))?.eventList)
      .toMatchObject([{ messageId: 'a' }])
    await expect
      .poll(() => second.reader.ask('request', { id: ids[1] ?? '' }))
      .toMatchObject({ status: 400, problem: { offset: 3, line: null } })
  })

  test('the tail tells of what this process and others wrote, and of a clear', async () => {
    const { first, second } = await openTwo()
    const told: number[] = []
    first.tail.subscribe(({ lastSeq }) => told.push(lastSeq))

    await first.log.append([newEvent('a')])
    await second.log.append([newEvent('b')])

    await expect.poll(() => first.tail.news().lastSeq).toBe(2)
    expect(told).toEqual(expect.arrayContaining([1, 2]))
    const { epoch, head } = first.tail.news()
    second.clear()
    await expect.poll(() => first.tail.news().epoch).toBe(epoch + 1)
    expect(await idsOf(first.reader)).toEqual([])
    await second.log.append([newEvent('a')])
    await expect.poll(() => first.tail.news().head).not.toBe(head)
    expect(await idsOf(first.reader)).toEqual(['a'])
  })
}
