import { expect, onTestFinished, test } from 'vitest'
import { Backend } from '../../src/backend.ts'
import { parseConfig } from '../../src/config/load.ts'
import { newEvent } from '../../src/conformance/new-event.ts'
import { openStore } from '../../src/open-store.ts'
import { EVERYTHING } from '../../src/search/syntax.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import { LateStore } from '../../src/store/late-store.ts'
import { fakeClock } from '../support.ts'

test('if a store is opened late, its existing events do not count as just received', async () => {
  const clock = fakeClock()
  const config = parseConfig({}, '/')
  const onFault = () => {}
  const store = await openStore(':memory:', { config, clock, plan: null, onFault })
  await store.log.append([1, 2, 3].map((index) => newEvent(`old-${index}`)))
  const late = new LateStore('it is unavailable', {
    open: async () => store,
    giveUp: () => {},
    clock,
    onFault,
  })
  const backend = new Backend({
    config,
    store: late,
    clock,
    release: null,
    isDelivering: false,
    isShared: true,
    activeFaults: () => 0,
    storeUnavailable: () => null,
    onRecorded: () => {},
    onFault,
    onRecovery: () => {},
  })
  onTestFinished(() => backend.close())
  await backend.start()

  clock.advance(2000)
  await expect.poll(() => backend.stats().accepted).toBe(3)

  const came = () => backend.stats().perSecond.reduce((sum, { accepted }) => sum + accepted, 0)
  expect(came()).toBe(0)
  await late.log.append([newEvent('new')])
  await expect.poll(() => backend.stats().accepted).toBe(4)
  expect(came()).toBe(1)
})

test('reading from a position that was taken before the store was opened returns all existing events', async () => {
  const clock = fakeClock()
  const onFault = () => {}
  const store = await openStore(':memory:', { config: parseConfig({}, '/'), clock, plan: null, onFault })
  await store.log.append([newEvent('a'), newEvent('b')])
  const late = new LateStore('it is unavailable', {
    open: async () => store,
    giveUp: () => {},
    clock,
    onFault,
  })
  onTestFinished(() => late.close())
  const { head } = late.changes.state()

  clock.advance(2000)
  await expect.poll(() => late.changes.state().lastSeq).toBe(2)

  const query = { search: EVERYTHING, order: 'oldest', isFull: false, limit: 10, after: head } as const
  expect((await late.reader.ask('events', query)).events).toHaveLength(2)
})

test('if opening has already begun, a late store makes no second attempt; close() ends the attempt, and cut() reaches the store', async () => {
  const clock = fakeClock()
  const onFault = () => {}
  const done: string[] = []
  const late = (begun: Promise<EventStore>) => {
    const open = () => Promise.reject(new Error('a second attempt'))
    return new LateStore('it is slow', {
      open,
      giveUp: () => void done.push('given up'),
      begun,
      clock,
      onFault,
    })
  }
  const config = parseConfig({}, '/')
  const newStore = () => openStore(':memory:', { config, clock, plan: null, onFault })

  const store = await newStore()
  const opened = late(Promise.resolve(store))
  await expect.poll(() => opened.health()).toMatchObject([{ part: 'store', isReady: true }])
  store.cut = () => void done.push('cut')
  opened.cut()
  await opened.close()
  expect(done).toEqual(['cut', 'given up'])

  // If the store is opened only after `close()`, it is closed again.
  const last = await newStore()
  let open = (_: EventStore) => {}
  const closed = late(
    new Promise((resolve) => {
      open = resolve
    }),
  ).close()
  expect(done).toEqual(['cut', 'given up', 'given up'])
  const close = last.close.bind(last)
  last.close = () => {
    done.push('closed')
    return close()
  }
  open(last)
  await closed
  expect(done.at(-1)).toBe('closed')
})
