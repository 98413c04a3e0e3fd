import { expect, onTestFinished, test } from 'vitest'
import { newEvent } from '../../src/conformance/new-event.ts'
import { parseSearch } from '../../src/search/parse.ts'
import { EVENT_VOCABULARY } from '../../src/search/syntax.ts'
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { systemClock } from '../../src/system-clock.ts'

const HOUR_MS = 3_600_000
const violations = [{ path: '', keyword: 'unplanned', message: 'x' }]

function openStore(): SqliteStore {
  const store = new SqliteStore({
    path: ':memory:',
    durability: 'process',
    maxEvents: 1_000_000,
    clock: systemClock,
    plan: null,
    onFault() {},
  })
  onTestFinished(() => store.close())
  return store
}

test('the types in the catalogue and the examples of problems come from the requested range', async () => {
  const { log, reader } = openStore()
  const body = (key: string) => JSON.stringify({ properties: { [key]: 1 } })
  await log.append([
    newEvent('a', { receivedAtMs: HOUR_MS, body: body('early'), violations }),
    newEvent('b', { receivedAtMs: HOUR_MS, reason: 'no_event' }),
    newEvent('c', { receivedAtMs: 2 * HOUR_MS, body: body('late'), violations }),
    newEvent('d', { receivedAtMs: 2 * HOUR_MS, reason: 'no_event' }),
  ])
  const range = { fromMs: 0, toMs: HOUR_MS + 10_000 }

  expect(await reader.ask('catalogue', range)).toMatchObject({ sampled: 1, entries: [{ properties: 1 }] })
  expect(await reader.ask('schemas', range)).toMatchObject({
    schemas: [{ schema: { properties: { early: {} } } }],
  })
  const { problems } = await reader.ask('problems', range)
  expect(problems.map(({ reason, count, example }) => [reason, count, example])).toEqual([
    ['no_event', 1, '2'],
    ['violation', 1, '1'],
  ])
})

test('a name with U+0000 is found', async () => {
  const { log, reader } = openStore()
  await log.append([newEvent('a', { name: 'x\u0000y' }), newEvent('b', { name: 'x' })])
  const idsOf = async (line: string) => {
    const search = parseSearch(line, EVENT_VOCABULARY)
    const { events } = await reader.ask('events', { search, order: 'oldest', limit: 9, isFull: false })
    return events.map(({ messageId }) => messageId)
  }

  expect(await idsOf('name:"x\u0000y"')).toEqual(['a'])
  expect(await idsOf('name:"x\u0000y" OR name:z')).toEqual(['a'])
  expect(await idsOf('name:x\u0000*')).toEqual(['a'])
})
