import { expect, test, vi } from 'vitest'
import { Authenticator } from '../src/auth/caller.ts'
import { LoginLimit } from '../src/auth/login-limit.ts'
import { RateLimit } from '../src/auth/rate-limit.ts'
import { Sources } from '../src/auth/sources.ts'
import { DEFAULT_CONFIG } from '../src/config/defaults.ts'
import type { Config } from '../src/config/schema.ts'
import { FaultInjector } from '../src/faults/injector.ts'
import { Faults } from '../src/faults/rules.ts'
import { RequestNotes } from '../src/http/request-notes.ts'
import { Turns } from '../src/http/turns.ts'
import { TrackingApi } from '../src/ingest/tracking-api.ts'
import type { EventLog, NewEvent } from '../src/store/ports.ts'
import { basic, fakeClock, post, serve } from './support.ts'

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

test('work that does not fit into a turn of the event loop waits for the next turns, in order', async () => {
  const turns = new Turns()
  let turn = 0
  const done: Array<[name: string, turn: number]> = []
  // Scheduled before the first work, so that it counts each turn before the work of that turn starts.
  const count = () => {
    turn++
    if (done.length < 4) setImmediate(count)
  }
  setImmediate(count)
  const work = async (name: string, bytes: number) => {
    await turns.enter('a sender', bytes)
    done.push([name, turn])
  }

  await Promise.all([work('a', 100_000), work('b', 100_000), work('c', 1_000_000), work('d', 1)])

  expect(done).toEqual([
    ['a', 0],
    ['b', 1],
    ['c', 1],
    ['d', 2],
  ])
})

test('work of another sender does not wait for all that one has sent', async () => {
  const turns = new Turns()
  const done: string[] = []
  const work = async (sender: string, bytes: number) => {
    await turns.enter(sender, bytes)
    done.push(sender)
  }

  await Promise.all([...Array.from({ length: 20 }, () => work('much', 500_000)), work('little', 100)])

  // The first of `much` had begun.
  expect(done.indexOf('little')).toBeLessThanOrEqual(2)
})

test('work that was begun goes on before other work begins', async () => {
  const turns = new Turns()
  const done: string[] = []
  const work = async (name: string, isContinued = false) => {
    await (isContinued ? turns.goOn(200_000) : turns.enter('a sender', 200_000))
    done.push(name)
  }

  await Promise.all([work('first'), work('second'), work('third'), work('more of the first', true)])

  expect(done).toEqual(['first', 'more of the first', 'second', 'third'])
})

test('while connections arrive in every turn, work waits at first, and then has half of the time', async () => {
  const clock = fakeClock()
  const turns = new Turns(clock)
  const doneInTurns: number[] = []
  let turn = 0
  turns.accepted()
  // Each fills a turn.
  const working = Array.from({ length: 100 }, async () => {
    await turns.enter('a sender', 131_072)
    doneInTurns.push(turn)
  })

  for (; doneInTurns.length < 100; turn++) {
    turns.accepted()
    clock.advance(1)
    await nextTurn()
  }
  await Promise.all(working)

  expect(doneInTurns[0]).toBeGreaterThan(40)
  expect(turn).toBeGreaterThan(180)
  expect(turn).toBeLessThan(220)
})

test('while 10,000 messages are checked or stored, no request begins, and its body waits', async () => {
  const turns = new Turns()
  turns.opened(10_000)
  let begun = 0
  const working = Array.from({ length: 10 }, async () => {
    await turns.enter('a sender', 15_000)
    turns.opened(5000)
    begun++
  })
  const begunAfter = async (closed: number) => {
    turns.closed(closed)
    for (let turn = 0; turn < 10; turn++) await nextTurn()
    return begun
  }

  expect(await begunAfter(0)).toBe(0)
  expect(await begunAfter(1)).toBe(1)
  expect(await begunAfter(4999)).toBe(1)
  for (let next = 2; next <= 10; next++) expect(await begunAfter(next === 2 ? 1 : 5000)).toBe(next)
  await Promise.all(working)
})

test('a batch of 5,000 numbers is checked in steps, so that other requests can run in between', async () => {
  const turns = new Turns()
  const enter = vi.spyOn(turns, 'enter')
  const goOn = vi.spyOn(turns, 'goOn')
  const kept: NewEvent[] = []
  const url = await serveTracking(turns, (events) => {
    kept.push(...events)
    return Promise.resolve([])
  })

  const response = await post({ url }, '/', `{"batch":[${Array(5000).fill(0).join(',')}]}`)

  expect(response.status).toBe(200)
  expect(kept.filter(({ reason }) => reason === 'bad_item')).toHaveLength(5000)
  // One step for the parsing and the first 250 items, then one for every further 250.
  expect([enter.mock.calls.length, goOn.mock.calls.length]).toEqual([1, 19])
})

test('no item of a batch with 5,001 items is accepted, and the request does not get 200', async () => {
  const kept: NewEvent[] = []
  const url = await serveTracking(new Turns(), (events) => {
    kept.push(...events)
    return Promise.resolve([])
  })

  const response = await post({ url }, '/', `{"batch":[${Array(5001).fill(0).join(',')}]}`)

  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ success: false, code: 'too_many_items' })
  expect(kept).toMatchObject([{ kind: 'batch', reason: 'too_many_items', body: null }])
})

test('the two keys of a source take turns as one sender, and all invented keys and tokens of an address as another', async () => {
  const turns = new Turns()
  const enter = vi.spyOn(turns, 'enter')
  const sources: Config['sources'] = [{ name: 'shop', writeKey: ['new', 'old'] }]
  const url = await serveTracking(turns, () => Promise.resolve([]), { ...DEFAULT_CONFIG, sources })

  for (const authorization of [
    basic('new'),
    basic('old'),
    basic('invented'),
    basic('too'),
    'Bearer a',
    'Bearer b',
  ])
    await post({ url }, '/', '{"batch":[]}', { authorization })

  const senders = enter.mock.calls.map(([sender]) => sender)
  expect(senders).toEqual([...Array(2).fill('source shop'), ...Array(4).fill('127.0.0.1')])
})

async function serveTracking(
  turns: Turns,
  append: EventLog['append'],
  config = DEFAULT_CONFIG,
): Promise<string> {
  const clock = fakeClock()
  const loginLimit = new LoginLimit(300, clock)
  const tracking = new TrackingApi({
    config,
    clock,
    authenticator: new Authenticator(config, new Sources(config), undefined, loginLimit),
    rateLimit: new RateLimit(clock),
    writesTo: 'database',
    log: { append },
    turns,
    faults: new FaultInjector(new Faults(clock), clock),
    onFault: () => {},
  })
  return serve((request, response) => {
    void tracking.handle(request, response, 'batch', new RequestNotes('1', '127.0.0.1'))
  })
}
