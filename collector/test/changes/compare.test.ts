import { expect, test } from 'vitest'
import { differencesOf } from '../../src/changes/compare.ts'
import { EventShapes } from '../../src/changes/event-shapes.ts'
import { sentenceOf } from '../../src/changes/sentence.ts'

interface Given {
  event?: string
  kind?: string
  properties?: Record<string, unknown>
  os?: string
  user?: string
  version?: string
}

/** Adds events to an index, in two halves: before and after the time 1000. */
function sides(before: readonly Given[], after: readonly Given[]) {
  const shapes = new EventShapes()
  const add = (given: Given, receivedAtMs: number) => {
    const { event = 'Bought', kind = 'track', properties = {}, os, user = 'ada', version } = given
    const context = { ...(os && { os: { name: os } }), ...(version && { app: { version } }) }
    const data = kind === 'identify' ? { traits: properties } : { properties }
    const message = { event, ...data, context }
    const name = kind === 'identify' ? null : kind === 'group' ? `company-${shapes.size}` : event
    shapes.add({ seq: shapes.size + 1, receivedAtMs, kind, name, source: 'shop', user, message })
  }
  for (const one of before) add(one, 1)
  for (const one of after) add(one, 1000)
  return { shapes, before: shapes.side({ toMs: 1000 }), after: shapes.side({ fromMs: 1000 }) }
}

const times = (count: number, make: (n: number) => Given) => Array.from({ length: count }, (_, n) => make(n))
const of = (count: number, event: string, properties: Record<string, unknown> = {}) =>
  times(count, (n) => ({ event, properties, user: `u${n % 20}` }))

function sentences(before: readonly Given[], after: readonly Given[]): string[] {
  const both = sides(before, after)
  return differencesOf(both.before, both.after).map(sentenceOf)
}

test('nothing has changed when the same comes again, also at another pace', () => {
  const mix = [...of(100, 'Looked', { path: '/' }), ...of(30, 'Bought', { total: 1, coupon: null })]
  expect(sentences(mix, mix)).toEqual([])
  expect(sentences(mix, [...mix, ...mix, ...mix])).toEqual([])
  expect(sentences([...mix, ...mix, ...mix], mix)).toEqual([])
})

test('an event that is gone beside a new one with the same properties looks renamed', () => {
  const order = { total: 1, currency: 'EUR', items: [{ sku: 'a' }] }
  const before = [...of(50, 'Order Completed', order), ...of(50, 'Looked')]
  expect(sentences(before, [...of(50, 'Order Finished', order), ...of(50, 'Looked')])).toEqual([
    '“Order Completed” is gone, and “Order Finished” has come with the same properties: it looks renamed.',
  ])
  // A change inside of it is found all the same.
  const changed = of(50, 'Order Finished', { ...order, total: '1.00' })
  expect(sentences(before, [...changed, ...of(50, 'Looked')])[1]).toBe(
    '“total” of “Order Finished” is now a text; before, it was a number.',
  )
  expect(sentences(before, [...of(50, 'Newsletter', { list: 'tea' }), ...of(50, 'Looked')])).toEqual([
    '“Order Completed” is gone: before, it came 50 times.',
    '“Newsletter” is new: it came 50 times.',
  ])
})

test('what has not come yet is not called gone while too little came to tell', () => {
  const before = [...of(4, 'Refunded'), ...of(100, 'Looked')]
  expect(sentences(before, of(100, 'Looked'))).toEqual([
    '“Refunded” has not come yet; before, it came 4 times.',
  ])
  expect(sentences([...of(40, 'Refunded'), ...of(100, 'Looked')], of(100, 'Looked'))).toEqual([
    '“Refunded” is gone: before, it came 40 times.',
  ])
})

test.each([
  ['a number that becomes a text', 1, '1', 'now a text; before, it was a number'],
  ['a text that becomes a list', 'a', ['a'], 'now a list; before, it was a text'],
  ['an object that becomes null', { a: 1 }, null, 'now null; before, it was an object'],
])('%s is told', (_title, was, is, words) => {
  expect(sentences(of(20, 'Bought', { it: was }), of(20, 'Bought', { it: is }))).toEqual([
    `“it” of “Bought” is ${words}.`,
  ])
})

test('an integer is a number, and a date is a text', () => {
  expect(sentences(of(20, 'Bought', { it: 1 }), of(20, 'Bought', { it: 1.5 }))).toEqual([])
  expect(sentences(of(20, 'Bought', { it: '2026-05-17' }), of(20, 'Bought', { it: 'soon' }))).toEqual([])
})

test('a type that only some events have is told with its share', () => {
  const after = [...of(15, 'Bought', { it: 1 }), ...of(5, 'Bought', { it: 'x' })]
  expect(sentences(of(20, 'Bought', { it: 1 }), after)).toEqual([
    '“it” of “Bought” is now a text in 25% of the events; before, it was a number.',
  ])
})

test('types inside of lists and objects are compared, and what is in an object that is gone is told once', () => {
  const was = { items: [{ price: 1 }], address: { city: 'Bern', zip: '3000' } }
  expect(sentences(of(20, 'Bought', was), of(20, 'Bought', { items: [{ price: '1' }] }))).toEqual([
    '“items[].price” of “Bought” is now a text; before, it was a number.',
    '“address” of “Bought” is gone; it was in 100% of the events.',
  ])
})

test('a property is not rarer when more events come from a platform that never sent it', () => {
  const ios = times(60, () => ({ os: 'iOS', properties: { idfa: 'x' } }))
  const web = times(60, () => ({ os: 'web', properties: {} }))
  expect(sentences([...ios, ...web.slice(0, 20)], [...ios.slice(0, 20), ...web])).toEqual([])
  // Without platforms, it is told.
  const plain = (given: Given[]) => given.map(({ properties = {} }) => ({ properties }))
  expect(sentences(plain([...ios, ...web.slice(0, 20)]), plain([...ios.slice(0, 20), ...web]))).toEqual([
    '“idfa” of “Bought” is only in 25% of the events; before, it was in 75%.',
  ])
})

test('an optional property that did not come by chance is not gone', () => {
  const before = [...of(95, 'Bought', { total: 1 }), ...of(5, 'Bought', { total: 1, gift: true })]
  expect(sentences(before, of(20, 'Bought', { total: 1 }))).toEqual([])
  expect(sentences(before, of(200, 'Bought', { total: 1 }))).toEqual([
    '“gift” of “Bought” is gone; it was in 5% of the events.',
  ])
})

test('a volume that doubles is told, however many events come in all, and makes no other name look odd', () => {
  const before = [...of(100, 'Looked'), ...of(60, 'Added'), ...of(50, 'Bought')]
  const after = [...of(300, 'Looked'), ...of(360, 'Added'), ...of(150, 'Bought')]
  expect(sentences(before, after)).toEqual([
    '“Added” comes twice as often as usual: 360 times, where about 180 would be usual.',
  ])
  // Of two names, the number of users tells which one is usual.
  expect(
    sentences([...of(100, 'Looked'), ...of(100, 'Added')], [...of(100, 'Looked'), ...of(200, 'Added')]),
  ).toEqual(['“Added” comes twice as often as usual: 200 times, where about 100 would be usual.'])
  expect(sentences(of(6, 'Looked'), of(9, 'Looked'))).toEqual([])
})

test('traits are compared like properties, and a property of any name is', () => {
  const identify = (traits: Record<string, unknown>) =>
    times(10, (n) => ({ kind: 'identify', properties: traits, user: `u${n}` }))
  expect(sentences(identify({ plan: 'free', 'a.b': 1 }), identify({ plan: 3, __proto__x: 1 }))).toEqual([
    '“plan” of identify is now a number; before, it was a text.',
    '“"a.b"” of identify is gone; it was in 100% of the events.',
    '“__proto__x” of identify is new: it is in 100% of the events.',
  ])
  const odd = (count: number) => of(count, 'Bought', JSON.parse('{"__proto__":1,"constructor":2}'))
  expect(sentences(odd(10), of(10, 'Bought'))).toEqual([
    '“__proto__” of “Bought” is gone; it was in 100% of the events.',
    '“constructor” of “Bought” is gone; it was in 100% of the events.',
  ])
})

test('groups and aliases are no names of events: each is told once, as a kind', () => {
  const groups = times(10, () => ({ kind: 'group', properties: { plan: 1 } }))
  expect(sentences([...groups, ...of(20, 'Looked')], of(20, 'Looked'))).toEqual([
    'group is gone: before, it came 10 times.',
  ])
})

test('events whose keys are ids cost a bounded number of shapes, and are still counted', () => {
  const before = times(2000, (n) => ({ properties: { [`id-${n}`]: 1 } }))
  const { shapes, before: side } = sides(before, [])
  expect(side.events).toBe(2000)
  expect(shapes.isWhole).toBe(false)
  expect(side.shapes.length).toBeLessThan(502)
})
