import { beforeAll, expect, inject, test } from 'vitest'
import { type Collector, SearchSyntaxError, startCollector } from '../../src/index.ts'
import { pathText } from '../../src/search/syntax.ts'
import { newDatabase } from '../support/postgres.ts'
import { basic, openCollector, post, track } from '../support.ts'

let collector: Collector
/** Has the same events; undefined if this run has no PostgreSQL. */
let onPostgres: Collector | undefined

beforeAll(async () => {
  collector = await startCollector({ port: 0 })
  await send(collector)
  if (inject('postgresPort') !== null) {
    onPostgres = await startCollector({ port: 0, store: await newDatabase() })
    await send(onPostgres)
  }
  return () => Promise.all([collector.close(), onPostgres?.close()])
})

async function send(collector: Collector): Promise<void> {
  const item = (messageId: string, fields: object) => track({ messageId, properties: {}, ...fields })
  await post(collector, '/v1/batch', {
    batch: [
      item('a', { event: 'Order Completed', userId: 'ada', properties: { total: 120, ok: true, tag: '5' } }),
      item('b', {
        event: 'Order Completed',
        userId: 'bob',
        properties: { total: 80.5, items: [{ id: 'x' }] },
      }),
      item('c', {
        event: 'Viewed',
        userId: 'ada',
        anonymousId: 'anon',
        properties: { total: '120', tag: 5 },
      }),
      { type: 'page', messageId: 'd', userId: 'ada', name: 'Order Completed', properties: { title: 'ÄÖÜ' } },
      { type: 'track', messageId: 'e', userId: 'ada' },
      item('f', { event: 'Said', userId: 'bob', properties: { text: 'say "hi" 100%', ok: null } }),
    ],
  })
  await post(collector, '/v1/track', item('g', { event: 'Elsewhere' }), { authorization: basic('web') })
}

/** Returns the messageIds as one string, oldest first. */
async function foundOver({ url }: Collector, q: string): Promise<string> {
  const response = await fetch(`${url}/api/events?${new URLSearchParams({ q, order: 'newest' })}`)
  const { events } = (await response.json()) as { events: Array<{ messageId: string }> }
  return events
    .toReversed()
    .map(({ messageId }) => messageId)
    .join('')
}

test.each([
  ['', 'abcdefg'],
  ['event:"Order Completed"', 'ab'],
  ['name:"Order Completed"', 'abd'],
  ['event:order*', ''],
  ['event:Order*', 'ab'],
  ['user:ada', 'acde'],
  ['user:ada,bob type:track', 'abcef'],
  ['id:anon', 'c'],
  ['anonymous:*', 'c'],
  ['-anonymous:* user:ada', 'ade'],
  ['message:b', 'b'],
  ['source:web', 'g'],
  ['-source:web', 'abcdef'],
  ['status:rejected', 'e'],
  ['reason:no_event', 'e'],
  ['-reason:*', 'abcdfg'],
  ['reason!=no_event', 'abcdfg'],
  ['type:page OR source:web', 'dg'],
  ['user:ada (type:page OR properties.total:120)', 'acd'],
  ['properties.total>100', 'a'],
  ['properties.total>=80.5', 'ab'],
  ['properties.total:120', 'ac'],
  ['properties.total:"120"', 'c'],
  ['properties.total<100', 'b'],
  ['properties.ok:true', 'a'],
  ['properties.ok:null', 'f'],
  ['properties.ok:*', 'af'],
  ['properties.items.0.id:x', 'b'],
  ['properties.tag:5', 'ac'],
  ['properties.tag:1', ''],
  ['properties.ok:1', ''],
  ['-properties.total:* type:track', 'efg'],
  ['"say \\"hi\\""', 'f'],
  ['100%', 'f'],
  ['100_', ''],
  ['äöü', 'd'],
  ['ORDER', 'abd'],
  ['received>=2000-01-01', 'abcdefg'],
  ['received<2000-01-01', ''],
])('%j finds %j', async (q, expected) => {
  const ids = (records: ReadonlyArray<{ messageId: string | null }>) =>
    records.map(({ messageId }) => messageId).join('')

  expect(ids(collector.events({ q }))).toBe(expected)
  expect(collector.count({ q })).toBe(expected.length)
  for (const one of [collector, onPostgres])
    if (one !== undefined) expect(await foundOver(one, q)).toBe(expected)
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
  const lists = `{"type":"track","userId":"u","event":"E","messageId":"list","properties":{"list":["x",{"7":"deep"}]}}`
  await post(collector, '/v1/batch', `{"batch":[${[...items, lists].join(',')}]}`)
  const found = (q: string) => collector.events({ q }).map(({ messageId }) => messageId)

  for (const [index, key] of keys.entries()) {
    // The web page writes this search after a click on a value.
    expect(found(`${pathText(['properties', key])}:value-${index}`), key).toEqual([`m${index}`])
  }
  expect(found('properties.list.0:x')).toEqual(['list'])
  expect(found('properties.list.1.7:deep')).toEqual(['list'])
  expect(found('properties.0:x')).toEqual([])
  expect(found(`properties${'.1'.repeat(60)}:x`)).toEqual([])
  expect(() => found('properties.""."x":1')).toThrow('a key of a path is empty')
})

test('the store can handle as many values as a search line may have', async () => {
  for (const field of ['event', 'user', 'destination', 'properties.a', 'context.ip', 'text'])
    for (const value of ['a', '1', 'a*']) {
      const q = `${'-('.repeat(9)}${field}:${Array(200).fill(value).join()}${')'.repeat(9)}`
      for (const one of onPostgres === undefined ? [collector] : [collector, onPostgres]) {
        const { status } = await fetch(`${one.url}/api/count?q=${encodeURIComponent(q)}`)
        expect([field, value, status]).not.toContain(503)
      }
    }
})
