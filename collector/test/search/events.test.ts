import { beforeAll, expect, test } from 'vitest'
import { type Collector, SearchSyntaxError, startCollector } from '../../src/index.ts'
import { basic, post, track } from '../support.ts'

/** The ids of what a line finds, as one word. */
let collector: Collector

beforeAll(async () => {
  collector = await startCollector({ port: 0 })
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
  return () => collector.close()
})

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
])('%s finds %s', async (q, expected) => {
  const ids = (records: ReadonlyArray<{ messageId: string | null }>) =>
    records.map(({ messageId }) => messageId).join('')

  expect(ids(collector.events({ q }))).toBe(expected)
  expect(collector.count({ q })).toBe(expected.length)
  const response = await fetch(`${collector.url}/api/events?${new URLSearchParams({ q, order: 'newest' })}`)
  const { events } = (await response.json()) as { events: Array<{ messageId: string }> }
  expect(ids(events.toReversed())).toBe(expected)
})

test.each(['status:good', 'delivery:lost', 'received>soon', 'request:x'])(
  'the value of %s is refused',
  async (q) => {
    expect(() => collector.events({ q })).toThrow(SearchSyntaxError)
    const response = await fetch(`${collector.url}/api/events?${new URLSearchParams({ q: `user:ada ${q}` })}`)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'bad_search', position: 9, length: q.length })
  },
)

test('what people type is never SQL', () => {
  for (const q of ['user:"\' OR 1=1 --"', 'properties."a\'b":1', 'properties.$.a:1', '"%\' OR 1"']) {
    expect(collector.events({ q })).toEqual([])
  }
})

test('findLast is the newest match, waitFor takes a line, and both say when it is wrong', async () => {
  expect(collector.findLast({ q: 'user:ada' })).toMatchObject({ messageId: 'e' })
  expect(collector.findLast({ event: 'Never' })).toBeUndefined()
  expect(await collector.waitFor({ q: 'properties.total>100' })).toMatchObject([{ messageId: 'a' }])
  expect(await collector.waitFor({ q: 'reason:no_event' })).toMatchObject([{ messageId: 'e' }])
  await expect(collector.waitFor({ q: 'event:' })).rejects.toThrow(SearchSyntaxError)
})
