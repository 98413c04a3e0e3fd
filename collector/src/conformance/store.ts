import type { EventRecord } from '../record.ts'
import { parseSearch } from '../search/parse.ts'
import { EVENT_VOCABULARY, EVERYTHING } from '../search/syntax.ts'
import { CursorError, type EventReader } from '../store/event-reader.ts'
import type { EventStore, StoreListener } from '../store/event-store.ts'
import { type Cursor, RefusedError } from '../store/ports.ts'
import { newEvent, newRequest } from './new-event.ts'
import type { Runner } from './runner.ts'
import { describeTokenMemory } from './token-memory.ts'

export interface Subject {
  /** Each further call opens the same data again, as another process would. The tests start and close the store. */
  open(): Promise<EventStore>
  /** Advances the clock that the store uses for leases and for the due times of deliveries. */
  advance(ms: number): void
}

/**
 * Defines the tests that every store has to pass.
 *
 * @param newSubject Makes an empty store. Called once for each test.
 */
export function describeStore(runner: Runner, newSubject: () => Subject | Promise<Subject>): void {
  const { expect, onTestFinished, test } = runner
  const openAs = async (subject: Subject, listener: Partial<StoreListener> = {}) => {
    const store = await subject.open()
    onTestFinished(() => store.close())
    store.start({ committed() {}, cleared() {}, changed() {}, ...listener })
    return store
  }
  const openOne = async (listener: Partial<StoreListener> = {}) => openAs(await newSubject(), listener)
  const openTwo = async () => {
    const subject = await newSubject()
    return { subject, first: await openAs(subject), second: await openAs(subject) }
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

  test('append resolves with the outcome of each event, in order, when the events can be read', async () => {
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

  test('an append of thousands of events is stored completely and in order', async () => {
    const { log, reader } = await openOne()
    const events = Array.from({ length: 2500 }, (_, index) => newEvent(`m${index}`))

    const kept = await log.append(events)

    expect(kept.map(({ messageId }) => messageId)).toEqual(events.map(({ messageId }) => messageId))
    expect(await reader.ask('count', { search: EVERYTHING })).toEqual({
      count: 2500,
      isComplete: true,
      next: null,
    })
  })

  test('reads, searches, deliveries and deduplication treat fields that an event inherits from its batch like its own', async () => {
    const { log, reader, deliveries } = await openOne()
    const inherited = JSON.stringify({
      context: { locale: 'de-DE', app: { name: 'Käse' }, __proto: 1 },
      integrations: { All: true },
    })
    const own = (messageId: string, body: object, fields = {}) =>
      newEvent(messageId, {
        body: JSON.stringify({ messageId, ...body }),
        inherited,
        deliveries: hook,
        ...fields,
      })
    const events = [
      own('a', {}),
      own('b', { context: { locale: 'fr' } }),
      newEvent('c', { body: '{"messageId":"c","context":{"locale":"de-DE"}}' }),
      own('d', {}, { inherited: '{"context":{"locale":"it"}}' }),
      own('a', { context: { app: { name: 'Käse' } } }),
      own('b', {}),
    ]
    const kept = await log.append(events)
    // The messageIds are also recognized in another commit.
    kept.push(...(await log.append([own('a', {}), own('a', { context: { locale: 'en' } })])))

    expect(kept.map(({ reason }) => reason)).toEqual([
      ...[null, null, null, null, 'duplicate', 'dedup_conflict'],
      ...['duplicate', 'dedup_conflict'],
    ])
    const page = { search: EVERYTHING, order: 'oldest', limit: 10, isFull: true } as const
    const messages = (await reader.ask('events', page)).events.map(
      (event) => 'message' in event && event.message,
    )
    const shared = { app: { name: 'Käse' }, __proto: 1 }
    expect(messages.slice(0, 4)).toEqual([
      { messageId: 'a', context: { locale: 'de-DE', ...shared }, integrations: { All: true } },
      { messageId: 'b', context: { locale: 'fr', ...shared }, integrations: { All: true } },
      { messageId: 'c', context: { locale: 'de-DE' } },
      { messageId: 'd', context: { locale: 'it' } },
    ])
    const found = async (line: string) => {
      const { events } = await reader.ask('events', {
        ...page,
        search: parseSearch(line, EVENT_VOCABULARY),
        isFull: false,
      })
      return events.map(({ seq }) => seq - (kept[0]?.seq ?? 0))
    }
    expect(await found('context.locale:de-DE')).toEqual([0, 2, 4, 5, 6])
    expect(await found('context.app.name:kä*')).toEqual([])
    expect(await found('context.app.name:Kä* -context.locale:fr')).toEqual([0, 4, 5, 6, 7])
    expect(await found('-integrations.All:*')).toEqual([2, 3])
    expect(await found('context.locale:*')).toHaveLength(8)
    expect(await found('käse')).toEqual([0, 1, 4, 5, 6, 7])
    expect(await found('"it"')).toEqual([3])
    const due = await deliveries.claim('Hook', 10, 1000)
    expect(due.map(({ body }) => JSON.parse(body))).toEqual([messages[0], messages[1], messages[3]])
    const detail = await reader.ask('event', { id: kept[1]?.id ?? '' })
    expect(detail).toMatchObject({ message: messages[1] })
  })

  test('deduplication is exact if two processes write at the same time', async () => {
    const { first, second } = await openTwo()
    const batch = () => Array.from({ length: 100 }, (_, index) => newEvent(`race-${index}`))

    const all = await Promise.all(
      Array.from({ length: 10 }, (_, turn) => (turn % 2 === 0 ? first : second).log.append(batch())),
    )

    expect(all.flat().filter(({ status }) => status === 'accepted')).toHaveLength(100)
    expect(all.flat().filter(({ reason }) => reason === 'duplicate')).toHaveLength(900)
  })

  test('a group of events is stored once, even if it arrives again with new groups, or twice in one call', async () => {
    const { first, second } = await openTwo()
    // If an event has no messageId, only the key of its group shows that it is repeated.
    const group = (key: string) => ({
      key,
      events: [newEvent(`${key}-1`), newEvent('', { messageId: null, reason: 'no_event', name: key })],
    })
    await first.log.appendOnce([group('a'), group('b')])
    await first.log.appendOnce([])

    await first.log.appendOnce([group('b'), group('c'), group('c')])
    await second.log.appendOnce([group('a'), group('d'), group('c')])

    expect(await idsOf(first.reader)).toEqual(['a-1', null, 'b-1', null, 'c-1', null, 'd-1', null])
    const { events } = await first.totals()
    expect(Object.fromEntries(events.map(({ reason, count }) => [reason, count]))).toEqual({
      '': 4,
      no_event: 4,
    })
  })

  test('two processes that store the same groups at the same time store each once', async () => {
    const { first, second } = await openTwo()
    const groups = Array.from({ length: 40 }, (_, index) => ({
      key: `group-${index}`,
      events: [newEvent('', { messageId: null }), newEvent(`m${index}`)],
    }))
    const some = (turn: number) => groups.slice(turn, turn + 20)

    await Promise.all(
      Array.from({ length: 20 }, (_, turn) =>
        (turn % 2 === 0 ? first : second).log.appendOnce(turn % 3 === 0 ? some(turn).reverse() : some(turn)),
      ),
    )

    expect(await first.reader.ask('count', { search: EVERYTHING })).toMatchObject({ count: 78 })
    expect((await second.totals()).events.map(({ reason, count }) => [reason, count])).toEqual([['', 78]])
  })

  test('events of groups are delivered, and are deduplicated against each other and against appended events', async () => {
    const { log, reader, deliveries } = await openOne()
    await log.append([newEvent('a', { deliveries: hook })])

    await log.appendOnce([
      { key: '1', events: [newEvent('a', { deliveries: hook }), newEvent('b', { deliveries: hook })] },
      { key: '2', events: [newEvent('b', { deliveries: hook, body: '{"event":"other"}' })] },
    ])

    const { events } = await reader.ask('events', {
      search: EVERYTHING,
      order: 'oldest',
      limit: 10,
      isFull: false,
    })
    expect(events.map(({ reason }) => reason)).toEqual([null, 'duplicate', null, 'dedup_conflict'])
    const pending = await deliveries.claim('Hook', 10, 1000)
    expect(pending.map(({ messageId }) => messageId)).toEqual(['a', 'b'])
  })

  test('if the store refuses one of several groups because of its data, it stores no group and no key', async () => {
    const { log, reader } = await openOne()
    const sound = { key: 'sound', events: [newEvent('a')] }
    // Another version of the program might write such an event.
    const broken = newEvent('b', { receivedAtMs: null as unknown as number })

    await expect(log.appendOnce([sound, { key: 'broken', events: [broken] }])).rejects.toThrow(RefusedError)
    expect(await idsOf(reader)).toEqual([])

    await log.appendOnce([sound])
    await log.appendOnce([{ key: 'broken', events: [newEvent('c')] }])
    expect(await idsOf(reader)).toEqual(['a', 'c'])
  })

  test('the keys of groups are still known after all events were deleted, and on the next day', async () => {
    const { subject, first, second } = await openTwo()
    const group = { key: 'a', events: [newEvent('a')] }
    await first.log.appendOnce([group])

    await first.clear()
    subject.advance(24 * 60 * 60 * 1000)
    await second.log.appendOnce([group, { key: 'b', events: [newEvent('b')] }])

    expect(await idsOf(second.reader)).toEqual(['b'])
  })

  test('cursors visit every event once, in both directions, even while new events arrive', async () => {
    const { log, reader } = await openOne()
    await log.append(Array.from({ length: 25 }, (_, index) => newEvent(`m${index}`)))
    for (const order of ['oldest', 'newest'] as const) {
      const seen: Array<string | null> = []
      let cursor: Cursor | null | undefined
      while (cursor !== null) {
        const query = { search: EVERYTHING, order, limit: 10, isFull: false, ...(cursor && { cursor }) }
        const page = await reader.ask('events', query)
        seen.push(...page.events.map(({ messageId }) => messageId))
        cursor = page.next
        if (seen.length === 10 && order === 'oldest') {
          await log.append(Array.from({ length: 5 }, (_, index) => newEvent(`late${index}`)))
        }
      }
      expect(seen).toHaveLength(30)
      expect(new Set(seen).size).toBe(seen.length)
    }
  })

  test('only one of two processes claims a delivery, which can be claimed again when the lease ends', async () => {
    const { subject, first, second } = await openTwo()
    await first.log.append(
      Array.from({ length: 10 }, (_, index) => newEvent(`m${index}`, { deliveries: hook })),
    )

    const mine = await first.deliveries.claim('Hook', 6, 1000)
    const others = await second.deliveries.claim('Hook', 6, 1000)
    const ids = [...mine, ...others].map(({ eventId }) => eventId)

    expect([mine.length, others.length, new Set(ids).size]).toEqual([6, 4, 10])
    expect(await first.deliveries.claim('Hook', 6, 1000)).toEqual([])
    await first.deliveries.settle(
      'Hook',
      mine.map(({ eventId }) => settled(eventId)),
    )
    subject.advance(1000)
    const again = await first.deliveries.claim('Hook', 10, 1000)
    expect(again.map(({ eventId }) => eventId)).toEqual(others.map(({ eventId }) => eventId))
    expect(again.map(({ key }) => key)).toEqual(others.map(({ key }) => key))
  })

  test('a late result does not change a settled delivery; a released delivery is due at once', async () => {
    const { subject, first, second } = await openTwo()
    await first.log.append([newEvent('a', { deliveries: hook }), newEvent('b', { deliveries: hook })])
    const [a, b] = await first.deliveries.claim('Hook', 2, 1000)
    if (a === undefined || b === undefined) throw new Error('expected two due deliveries')
    subject.advance(1000)
    await second.deliveries.claim('Hook', 1, 1000)
    await second.deliveries.settle('Hook', [settled(a.eventId)])

    await first.deliveries.settle('Hook', [{ ...settled(a.eventId), state: 'pending', reason: 'late' }])
    await first.deliveries.release('Hook', [a.eventId, b.eventId])

    expect((await second.deliveries.claim('Hook', 10, 1000)).map(({ eventId }) => eventId)).toEqual([
      b.eventId,
    ])
  })

  test('every process can count the pending deliveries of destinations to which no process delivers', async () => {
    const { first, second } = await openTwo()
    const shop = [
      { destination: 'Hook' },
      { destination: 'Größe' },
      { destination: 'Files', skippedBecause: 'x' },
    ]
    await first.log.append([newEvent('a', { deliveries: shop }), newEvent('b', { deliveries: hook })])
    expect(await second.deliveries.unattended(60_000)).toEqual([
      { destination: 'Größe', pending: 1 },
      { destination: 'Hook', pending: 2 },
    ])

    await first.deliveries.attend(['Hook', 'Files'])
    await first.deliveries.attend(['Hook'])

    expect(await second.deliveries.unattended(60_000)).toEqual([{ destination: 'Größe', pending: 1 }])
    expect((await second.deliveries.unattended(0)).map(({ destination }) => destination)).toContain('Hook')
    for (const { eventId } of await second.deliveries.claim('Größe', 10, 1000))
      await second.deliveries.settle('Größe', [settled(eventId)])
    expect(await second.deliveries.unattended(60_000)).toEqual([])
  })

  test('of any number of unknown destinations, fifty are named', async () => {
    const { log, deliveries } = await openOne()
    const names = Array.from({ length: 200 }, (_, index) => ({ destination: `Unknown ${index}` }))

    await log.append([newEvent('a', { deliveries: names })])

    expect(await deliveries.unattended(60_000)).toHaveLength(50)
  })

  test('a retry waits until its due time, which can be read', async () => {
    const { subject, first } = await openTwo()
    await first.log.append([newEvent('a', { deliveries: hook })])
    const [a] = await first.deliveries.claim('Hook', 1, 1000)
    const dueAtMs = (await first.deliveries.nextDueMs('Hook')) ?? 0
    await first.deliveries.settle('Hook', [
      { ...settled(a?.eventId ?? ''), state: 'pending', reason: 'answered 503', dueAtMs: dueAtMs + 4000 },
    ])

    expect(await first.deliveries.nextDueMs('Hook')).toBe(dueAtMs + 4000)
    expect(await first.deliveries.claim('Hook', 1, 1000)).toEqual([])
    subject.advance(5000)
    expect(await first.deliveries.claim('Hook', 1, 1000)).toMatchObject([{ attempts: 1 }])
    expect(await first.deliveries.nextDueMs('Other')).toBeUndefined()
  })

  test('failed deliveries can be retried, all or some', async () => {
    const { first } = await openTwo()
    const kept = await first.log.append(['a', 'b', 'c'].map((id) => newEvent(id, { deliveries: hook })))
    await first.deliveries.claim('Hook', 3, 1000)
    await first.deliveries.settle(
      'Hook',
      kept.map(({ id }) => ({ ...settled(id), state: 'failed', reason: 'answered 404' })),
    )

    expect(await first.deliveries.retry('Hook', [kept[1]?.id ?? ''])).toBe(1)
    expect(await first.deliveries.claim('Hook', 3, 1000)).toMatchObject([{ messageId: 'b', attempts: 0 }])
    expect(await first.deliveries.retry('Hook')).toBe(2)
  })

  test('the newest twenty attempts of each event are kept', async () => {
    const { deliveries, log, reader } = await openOne()
    const [a, b] = await log.append(['a', 'b'].map((id) => newEvent(id, { deliveries: hook })))
    const attemptsOf = async (id = '') => {
      const detail = await reader.ask('event', { id })
      return detail?.destinations[0]?.history.map(({ attempt }) => attempt)
    }

    for (let attempts = 1; attempts <= 25; attempts++) {
      const attempt = { atMs: 1000 * attempts, durationMs: 1, result: 'retry' as const }
      const tried = { state: 'pending' as const, reason: 'answered 503', attempts, dueAtMs: 0, attempt }
      const ids = attempts <= 3 ? [a?.id, b?.id] : [a?.id]
      await deliveries.settle(
        'Hook',
        ids.map((eventId = '') => ({ eventId, ...tried })),
      )
    }

    expect(await attemptsOf(a?.id)).toEqual(Array.from({ length: 20 }, (_, index) => index + 6))
    expect(await attemptsOf(b?.id)).toEqual([1, 2, 3])
  })

  test('request ids are unique across processes, and events can be found by them', async () => {
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

  test('the change feed reports writes of this and other processes, and clear()', async () => {
    const { first, second } = await openTwo()
    const told: number[] = []
    first.changes.subscribe(({ lastSeq }) => told.push(lastSeq))

    await first.log.append([newEvent('a')])
    await second.log.append([newEvent('b')])

    await expect.poll(() => first.changes.state().lastSeq).toBe(2)
    expect(told).toEqual(expect.arrayContaining([1, 2]))
    const { epoch, head } = first.changes.state()
    await second.clear()
    await expect.poll(() => first.changes.state().epoch).toBe(epoch + 1)
    expect(await idsOf(first.reader)).toEqual([])
    await second.log.append([newEvent('a')])
    await expect.poll(() => first.changes.state().head).not.toBe(head)
    expect(await idsOf(first.reader)).toEqual(['a'])
  })

  test('counting only the new events after each change gives the exact total, even while two processes write', async () => {
    const { first, second } = await openTwo()
    const writing = Array.from({ length: 40 }, (_, turn) =>
      (turn % 2 === 0 ? first : second).log.append([newEvent(`a${turn}`), newEvent(`b${turn}`)]),
    )
    let seen = 0
    let total = 0
    const follow = async () => {
      const { lastSeq } = first.changes.state()
      const between = { afterSeq: seen, beforeSeq: lastSeq + 1 }
      total += (await first.reader.ask('count', { search: EVERYTHING, between })).count
      seen = lastSeq
      return total
    }

    await expect.poll(follow, { interval: 5 }).toBe(80)

    await Promise.all(writing)
    expect(await first.reader.ask('count', { search: EVERYTHING })).toMatchObject({ count: 80, next: null })
  })

  test('a bound of a page is a cursor or a sequence number, and all bounds apply together', async () => {
    const { log, reader } = await openOne()
    const kept = await log.append(Array.from({ length: 9 }, (_, index) => newEvent(`m${index}`)))
    const seqOf = (index: number) => kept[index]?.seq ?? 0
    const ask = async (query: object) => {
      const all = { search: EVERYTHING, order: 'oldest', limit: 100, isFull: false, ...query } as const
      const { events } = await reader.ask('events', all)
      return events.map(({ messageId }) => messageId)
    }
    const { next } = await reader.ask('events', {
      search: EVERYTHING,
      order: 'oldest',
      limit: 3,
      isFull: false,
    })
    const cursor = next ?? ''

    expect(await ask({ cursor })).toEqual(['m3', 'm4', 'm5', 'm6', 'm7', 'm8'])
    expect(await ask({ after: cursor, before: seqOf(6) })).toEqual(['m3', 'm4', 'm5'])
    expect(await ask({ cursor, after: seqOf(4), before: seqOf(8) })).toEqual(['m5', 'm6', 'm7'])
    expect(await ask({ cursor, order: 'newest' })).toEqual(['m1', 'm0'])
    const between = { afterSeq: seqOf(0), beforeSeq: seqOf(4) }
    expect(await ask({ between, after: cursor })).toEqual(['m3'])
    for (const forged of ['', 'x', `${cursor}=`, `${cursor}A`, '\u0000', 'null', '9'.repeat(40)]) {
      await expect(ask({ cursor: forged }), forged).rejects.toThrow(CursorError)
    }
  })

  test('an unknown id finds nothing', async () => {
    const { reader, deliveries } = await openOne()

    for (const id of ['', '0', '-1', '1e3', 'nobody', '9'.repeat(30), "1' OR '1'='1"]) {
      expect(await reader.ask('event', { id }), id).toBeNull()
      expect(await reader.ask('request', { id }), id).toBeNull()
      expect(await deliveries.retry('Hook', [id]), id).toBe(0)
      expect(await deliveries.replay('Hook', id), id).toBe(false)
    }
    expect(await reader.ask('user', { id: 'nobody', order: 'newest', limit: 10 })).toBeNull()
    expect(await reader.ask('catalogueEntry', { key: 'track:nobody', isFull: true })).toBeNull()
  })

  test('a replay is delivered with a new key, and only to the chosen destination', async () => {
    const { log, deliveries } = await openOne()
    const [kept] = await log.append([newEvent('a', { deliveries: hook })])
    const id = kept?.id ?? ''
    const [once] = await deliveries.claim('Hook', 1, 1000)
    await deliveries.settle('Hook', [settled(id)])

    expect([await deliveries.replay('Hook', id), await deliveries.replay('Other', id)]).toEqual([true, false])

    const [again] = await deliveries.claim('Hook', 1, 1000)
    expect(again).toMatchObject({ eventId: id, body: once?.body })
    expect(again?.key).not.toBe(once?.key)
  })

  test('an event that is no JSON, or has a number with too many digits, breaks no query of others', async () => {
    const { log, reader, deliveries } = await openOne()
    const inherited = '{"context":{"locale":"de"}}'
    const odd = ['{"properties":', '[]', 'null', `{"properties":{"n":1.${'1'.repeat(20_000)}}}`]
    await log.append([
      ...odd.map((body, index) => newEvent(`odd-${index}`, { body, inherited, deliveries: hook })),
      newEvent('a', { body: '{"properties":{"n":5},"context":{"app":1}}', inherited }),
    ])
    const search = (text: string) =>
      reader.ask('events', {
        search: parseSearch(text, EVENT_VOCABULARY),
        order: 'oldest',
        limit: 10,
        isFull: true,
      })

    for (const text of ['properties.n:5', 'context.locale:de context.app:1', 'properties.n>4.5'])
      expect((await search(text)).events.map(({ messageId }) => messageId)).toEqual(['a'])
    const all = (await search('')).events
    expect(all).toHaveLength(5)
    expect(all.slice(0, 3).map((event) => (event as EventRecord).message)).toEqual([null, null, null])
    expect(await reader.ask('catalogue', {})).toMatchObject({ sampled: 2 })
    expect(await deliveries.claim('Hook', 10, 60_000)).toHaveLength(4)
    for (const { id } of all) expect(await reader.ask('event', { id })).not.toBeNull()
  })

  test.each([
    ['12345678901234567891', '12345678901234567892'],
    ['9007199254740993', '9007199254740992'],
    ['0.12345678901234567891', '0.12345678901234567892'],
    ['1e+23', '100000000000000000000001'],
    ['-12345678901234567891', '12345678901234567891'],
  ])('a search for the number %s does not find %s', async (one, other) => {
    const { log, reader } = await openOne()
    await log.append([one, other].map((n) => newEvent(n, { body: `{"properties":{"n":${n}}}` })))

    for (const n of [one, other]) {
      const search = parseSearch(`properties.n:${n}`, EVENT_VOCABULARY)
      const { events } = await reader.ask('events', { search, order: 'oldest', limit: 10, isFull: false })
      expect(events.map(({ messageId }) => messageId)).toEqual([n])
    }
  })

  test('the key of a delivery identifies the event, not only its number in the database', async () => {
    // Without the id of the database.
    const keyIn = async ({ log, deliveries }: EventStore, ...event: Parameters<typeof newEvent>) => {
      await log.append([newEvent(event[0], { deliveries: hook, ...event[1] })])
      const [claimed] = await deliveries.claim('Hook', 1, 60_000)
      return claimed?.key.replace(/^[^-]*-/, '')
    }

    const keys = [
      await keyIn(await openOne(), 'a'),
      await keyIn(await openOne(), 'b'),
      await keyIn(await openOne(), 'a', { source: 'other' }),
      await keyIn(await openOne(), 'a', { receivedAtMs: 1_000_001 }),
    ]

    expect(keys.every((key) => key?.startsWith('1-'))).toBe(true)
    expect(new Set(keys).size).toBe(4)
    expect(await keyIn(await openOne(), 'a')).toBe(keys[0])
  })

  test('until it expires, an assertion can be used only once, whichever process gets it', async () => {
    const { first, second } = await openTwo()
    const stores = Array.from({ length: 10 }, (_, turn) => (turn % 2 === 0 ? first : second))

    const used = await Promise.all(stores.map(({ assertions }) => assertions.use('jti', 2000, 1000)))

    expect(used.filter(Boolean)).toHaveLength(1)
    expect(await first.assertions.use('other', 2000, 1000)).toBe(true)
    expect(await second.assertions.use('jti', 5000, 2001)).toBe(true)
  })

  describeTokenMemory(runner, openTwo)

  test('clear() keeps token keys and used assertions', async () => {
    const { first, second } = await openTwo()
    const version = await first.tokenKeys.replace(undefined, 'keys')
    await first.assertions.use('jti', 2000, 1000)

    await second.clear()

    expect(await first.tokenKeys.read()).toEqual({ text: 'keys', version })
    expect(await second.assertions.use('jti', 2000, 1000)).toBe(false)
  })

  test('the totals by source, kind and reason include events of other processes', async () => {
    const { first, second } = await openTwo()
    await first.log.append([newEvent('a'), newEvent('b', { reason: 'no_event' })])
    await second.log.append([newEvent('a'), newEvent('c')])
    first.requests.append(newRequest(first.requests.nextId(), { status: 400 }))

    await expect.poll(async () => (await second.totals()).requests).toBe(1)
    const { events, refused } = await second.totals()
    const byReason = Object.fromEntries(events.map(({ reason, count }) => [reason, count]))
    expect(byReason).toEqual({ '': 2, no_event: 1, duplicate: 1 })
    expect(refused).toBe(1)
    expect(events[0]).toMatchObject({ source: newEvent('x').source, kind: newEvent('x').kind })
  })

  test('a process is notified of its own writes, of writes by other processes, and of clear() in another process', async () => {
    const subject = await newSubject()
    const told: string[] = []
    const first = await openAs(subject, {
      committed: (events, requests) => void told.push(`committed ${events.length} ${requests.length}`),
      changed: () => void told.push('changed'),
      cleared: () => void told.push('cleared'),
    })
    const second = await openAs(subject)

    await first.log.append([newEvent('a')])
    await expect.poll(() => told).toContain('committed 1 0')
    await second.log.append([newEvent('b')])
    await expect.poll(() => told).toContain('changed')
    expect(told).not.toContain('cleared')
    await second.clear()
    await expect.poll(() => told).toContain('cleared')
  })

  test('clear() deletes all events and deliveries, but sequence numbers continue', async () => {
    const store = await openOne()
    const { log, reader, deliveries } = store
    const [before] = await log.append([newEvent('a', { deliveries: hook })])
    await store.clear()

    expect(await idsOf(reader)).toEqual([])
    expect((await store.totals()).events).toEqual([])
    expect(await deliveries.claim('Hook', 10, 1000)).toEqual([])
    expect(await reader.ask('event', { id: before?.id ?? '' })).toBeNull()
    const [again] = await log.append([newEvent('a')])
    expect(again).toMatchObject({ status: 'accepted' })
    expect(again?.seq).toBeGreaterThan(before?.seq ?? 0)
  })
  test('delete() removes chosen events with their deliveries and counts; their messageIds stay known', async () => {
    const store = await openOne()
    const { log, reader, deliveries } = store
    const [a, b, c] = await log.append([
      newEvent('a', { deliveries: hook }),
      newEvent('b', { deliveries: hook }),
      newEvent('c', { reason: 'no_event' }),
    ])
    const { revision } = store.changes.state()

    expect(await store.delete([a?.id ?? '', c?.id ?? '', '4711', 'no number'])).toBe(2)

    expect(await idsOf(reader)).toEqual(['b'])
    expect((await store.totals()).events.map(({ reason, count }) => [reason, count])).toEqual([['', 1]])
    const { steps, losses } = await reader.ask('overview', { fromMs: undefined, toMs: undefined })
    expect(steps.map(({ count, pending }) => pending ?? count)).toEqual([1, 1, 1, 1])
    expect(losses).toEqual([])
    expect((await deliveries.claim('Hook', 10, 1000)).map(({ eventId }) => eventId)).toEqual([b?.id])
    await expect.poll(() => store.changes.state().revision).toBeGreaterThan(revision)
    const [again] = await log.append([newEvent('a')])
    expect(again).toMatchObject({ status: 'rejected', reason: 'duplicate' })
    // The newest event was deleted. Who waits for events after it must get the next one.
    expect(again?.seq).toBeGreaterThan(c?.seq ?? 0)
    expect(await store.delete([a?.id ?? ''])).toBe(0)
  })

  test('users are found by a part of a trait, and have the name and the e-mail address of their traits', async () => {
    const { log, reader } = await openOne()
    await log.append([
      identify('1', 'u-1', { name: 'Zoë "Z" Brandt', email: 'zoe@brandt.example' }),
      identify('2', 'u-2', { name: 'Ada' }),
      newEvent('3', { userId: 'u-1' }),
      identify('4', 'u-1', { plan: 'pro' }),
      newEvent('5', { userId: 'u-3' }),
    ])
    const found = async (q: string) =>
      (await reader.ask('users', { q, limit: 10 })).users.map(({ id, name, email }) => [id, name, email])

    const zoe = ['u-1', 'Zoë "Z" Brandt', 'zoe@brandt.example']
    expect(await found('')).toEqual([['u-3', null, null], zoe, ['u-2', 'Ada', null]])
    expect(await found('BRANDT.ex')).toEqual([zoe])
    expect(await found('"Z"')).toEqual([zoe])
    // The key of a trait, or another field of the message, is not a text of the user.
    expect(await found('email')).toEqual([])
    expect(await found('identify')).toEqual([])
  })

  test('the name of a user with many events comes from the newest identify, and what it lacks from the first one', async () => {
    const { log, reader } = await openOne()
    const tracks = (of: string, length: number) =>
      Array.from({ length }, (_, n) => newEvent(`${of}${n}`, { userId: of }))
    await log.append([
      identify('1', 'busy', { name: 'Old name', email: 'busy@example.com' }),
      identify('2', 'calm', { name: 'Calm' }),
      ...tracks('busy', 130),
      ...tracks('calm', 3),
      identify('3', 'busy', { name: 'New name' }),
    ])

    const { users } = await reader.ask('users', { q: '', limit: 10 })

    expect(users.map(({ id, name, email, count }) => [id, name, email, count])).toEqual([
      ['busy', 'New name', 'busy@example.com', 132],
      ['calm', 'Calm', null, 4],
    ])
  })

  test('a page has at most as many users as it was asked for, and the pages together have each user once', async () => {
    const { log, reader } = await openOne()
    await log.append(['a', 'b', 'c', 'a', 'd', 'b'].map((userId, n) => newEvent(`m${n}`, { userId })))

    const pages: string[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const { users, next } = await reader.ask('users', { q: '', limit: 2, ...(cursor && { cursor }) })
      pages.push(users.map(({ id }) => id).join(''))
      cursor = next
    }

    expect(pages).toEqual(['bd', 'ac'])
  })

  test('the events of a user can be read in the order of their own time', async () => {
    const { log, reader } = await openOne()
    const at = (iso: string) => ({ timestampMs: Date.parse(iso) })
    await log.append([
      newEvent('now', at('2026-05-17T09:30:00Z')),
      newEvent('imported', at('2020-02-02T10:00:00Z')),
      newEvent('in between', at('2024-02-02T10:00:00Z')),
    ])
    const timeline = async (order: 'newest' | 'oldest') =>
      (await reader.ask('user', { id: 'zoë', by: 'timestamp', order, limit: 2 }))?.events.map(
        ({ messageId }) => messageId,
      )

    expect(await timeline('newest')).toEqual(['now', 'in between'])
    expect(await timeline('oldest')).toEqual(['imported', 'in between'])
  })

  test('a search finds events by their own time, whenever they were received', async () => {
    const { log, reader } = await openOne()
    const at = (iso: string) => ({ timestampMs: Date.parse(iso) })
    await log.append([
      newEvent('old', at('2020-02-02T10:00:00Z')),
      newEvent('new', at('2026-05-17T09:30:00Z')),
    ])
    const found = async (q: string) => {
      const search = parseSearch(q, EVENT_VOCABULARY)
      const page = await reader.ask('events', { search, order: 'oldest', limit: 10, isFull: false })
      return page.events.map(({ messageId }) => messageId)
    }

    expect(await found('timestamp<2021-01-01')).toEqual(['old'])
    expect(await found('timestamp>=2020-02-02T10:00Z')).toEqual(['old', 'new'])
  })

  test('an open store is ready and reports its queue; a closed store reports why it is not ready', async () => {
    const subject = await newSubject()
    const store = await subject.open()
    store.start({ committed() {}, cleared() {}, changed() {} })
    await store.log.append([newEvent('a')])

    // Only a store in a file tells how full it is.
    const health = async () => (await store.health()).map(({ fill: _, ...state }) => state)
    expect(await health()).toEqual([{ part: 'store', isReady: true, reason: null, waiting: 0 }])

    await store.close()
    expect(await health()).toEqual([
      { part: 'store', isReady: false, reason: expect.stringContaining('closed'), waiting: 0 },
    ])
  })
}

function identify(messageId: string, userId: string, traits: object) {
  const body = JSON.stringify({ type: 'identify', userId, traits })
  return newEvent(messageId, { kind: 'identify', name: null, userId, body })
}
