import type { Collector } from '../../src/index.ts'
import { basic, post, track } from '../support.ts'

export async function send(collector: Collector): Promise<void> {
  const item = (messageId: string, fields: object) => track({ messageId, properties: {}, ...fields })
  await post(collector, '/v1/batch', {
    batch: [
      item('a', { event: 'Order Completed', userId: 'ada', properties: { total: 120, ok: true, tag: '5' } }),
      item('b', {
        event: 'Order Completed',
        userId: 'bob',
        properties: { total: 80.5, items: [{ id: 'x' }] },
        _metadata: { jsRuntime: 'node' },
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
  await post(collector, '/v1/track', item('g', { event: 'Elsewhere', properties: { 'key.with.dots': 1 } }), {
    authorization: basic('web'),
  })
}

/** Returns the messageIds as one string, oldest first. */
export async function foundOver({ url }: Collector, q: string): Promise<string> {
  const response = await fetch(`${url}/api/events?${new URLSearchParams({ q, order: 'newest' })}`)
  const { events } = (await response.json()) as { events: Array<{ messageId: string }> }
  return events
    .toReversed()
    .map(({ messageId }) => messageId)
    .join('')
}

/** Searches, with the messageIds of the events that they find. */
export const SEARCHES: ReadonlyArray<[q: string, found: string]> = [
  ['', 'abcdefg'],
  ['event:"Order Completed"', 'ab'],
  ['name:"Order Completed"', 'abd'],
  ['event:order*', ''],
  ['event:Order*', 'ab'],
  ['user:ada', 'acde'],
  // Not in the name of the field `_metadata`.
  ['ADA', 'acde'],
  ['user:ada,bob type:track', 'abcef'],
  ['id:anon', 'c'],
  ['anonymous:*', 'c'],
  ['-anonymous:* user:ada', 'ade'],
  ['message:b', 'b'],
  ['source:web', 'g'],
  ['-source:web', 'abcdef'],
  ['--source:web', 'g'],
  ['user:ad*', 'acde'],
  ['userId:ada,bob,"c d"', 'abcdef'],
  ['Viewed Order OR source:web', 'g'],
  ['user:ada (type:page OR -properties.total:*)', 'de'],
  ['status:rejected', 'e'],
  ['reason:no_event', 'e'],
  ['-reason:*', 'abcdfg'],
  // What has no reason has no other reason.
  ['reason!=no_event', ''],
  ['properties.total!=120', 'b'],
  ['properties.tag!=5', ''],
  ['status!=accepted', 'e'],
  ['properties."key.with.dots":1', 'g'],
  ['properties.key.with.dots:1', 'g'],
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
]

/** Searches with as many values as a search line may have. */
export const LONGEST = ['event', 'user', 'destination', 'properties.a', 'context.ip', 'text'].flatMap(
  (field) =>
    ['a', '1', 'a*'].map(
      (value) => `${'-('.repeat(9)}${field}:${Array(200).fill(value).join()}${')'.repeat(9)}`,
    ),
)

export async function statusOf({ url }: Collector, q: string): Promise<number> {
  return (await fetch(`${url}/api/count?q=${encodeURIComponent(q)}`)).status
}
