import { beforeAll, expect, test } from 'vitest'
import { type Collector, SearchSyntaxError, startCollector } from '../../src/index.ts'
import { pathText } from '../../src/search/syntax.ts'
import { openCollector, post } from '../support.ts'
import { foundOver, LONGEST, SEARCHES, send, statusOf } from './examples.ts'

let collector: Collector

beforeAll(async () => {
  collector = await startCollector({ port: 0 })
  await send(collector)
  return () => collector.close()
})

test.each(SEARCHES)('%j finds %j', async (q, expected) => {
  const ids = (records: ReadonlyArray<{ messageId: string | null }>) =>
    records.map(({ messageId }) => messageId).join('')

  expect(ids(collector.events({ q }))).toBe(expected)
  expect(collector.count({ q })).toBe(expected.length)
  expect(await foundOver(collector, q)).toBe(expected)
})

test.each(['status:good', 'delivery:lost', 'received>soon', 'request:x'])(
  'an invalid value is refused: %s',
  async (q) => {
    expect(() => collector.events({ q })).toThrow(SearchSyntaxError)
    const response = await fetch(`${collector.url}/api/events?${new URLSearchParams({ q: `user:ada ${q}` })}`)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'bad_search', position: 9, length: q.length })
  },
)

test('a search line never becomes SQL', () => {
  for (const q of ['user:"\' OR 1=1 --"', 'properties."a\'b":1', 'properties.$.a:1', '"%\' OR 1"']) {
    expect(collector.events({ q })).toEqual([])
  }
})

test.each([
  [{ event: 'Viewed' }, 'c'],
  [{ type: 'page' as const }, 'd'],
  [{ userId: 'bob' }, 'bf'],
  [{ anonymousId: 'anon' }, 'c'],
  [{ messageId: 'b' }, 'b'],
  [{ status: 'rejected' as const }, 'e'],
  [{ reason: 'no_event' as const }, 'e'],
  [{ source: 'shop', order: 'newest' as const, limit: 2 }, 'fe'],
  [{ text: '100%' }, 'f'],
  [{ after: 5 }, 'fg'],
])('the filter %j finds %j', (filter, expected) => {
  const found = collector.events(filter)
  expect(found.map(({ messageId }) => messageId).join('')).toBe(expected)
})

test('findLast returns the newest match, waitFor accepts a search line and rejects if it is invalid', async () => {
  expect(collector.findLast({ q: 'user:ada' })).toMatchObject({ messageId: 'e' })
  expect(collector.findLast({ event: 'Never' })).toBeUndefined()
  expect(await collector.waitFor({ q: 'properties.total>100' })).toMatchObject([{ messageId: 'a' }])
  expect(await collector.waitFor({ q: 'reason:no_event' })).toMatchObject([{ messageId: 'e' }])
  await expect(collector.waitFor({ q: 'event:' })).rejects.toThrow(SearchSyntaxError)
})

test('a key of a path can be any text that is not empty; a whole number is a key or an index', async () => {
  const collector = await openCollector()
  const keys = [
    'a.b',
    'a"b',
    "a'b",
    '__proto__',
    'back\\slash',
    '\\"',
    'a\nb',
    'a\u0000b',
    'a[0]',
    '0',
    '$',
    '😀',
    '*',
  ]
  const items = keys.map((key, index) => {
    const properties = `{${JSON.stringify(key)}:"value-${index}"}`
    return `{"type":"track","userId":"u","event":"E","messageId":"m${index}","properties":${properties}}`
  })
  const lists = `{"type":"track","userId":"u","event":"E","messageId":"list","properties":{"list":["x"]}}`
  await post(collector, '/v1/batch', `{"batch":[${[...items, lists].join(',')}]}`)
  const found = (q: string) => collector.events({ q }).map(({ messageId }) => messageId)

  for (const [index, key] of keys.entries()) {
    // The web page writes this search after a click on a value.
    expect(found(`${pathText(['properties', key])}:value-${index}`), key).toEqual([`m${index}`])
  }
  expect(found('properties.list.0:x')).toEqual(['list'])
  expect(found('properties.0:x')).toEqual([])
  expect(found(`properties${'.1'.repeat(60)}:x`)).toEqual([])
  expect(() => found('properties.""."x":1')).toThrow('a key of a path is empty')
})

test('the store can handle as many values as a search line may have', async () => {
  for (const q of LONGEST) expect([q, await statusOf(collector, q)]).not.toContain(503)
})
