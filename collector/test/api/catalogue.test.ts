import { expect, test } from 'vitest'
import type { FoundField } from '../../src/catalogue/answer.ts'
import { TrackingPlan } from '../../src/plan/plan.ts'
import { openCollector, post } from '../support.ts'

const order = (properties: object) => ({ type: 'track', userId: 'ada', event: 'Order', properties })

async function collectorWith(...batches: object[][]) {
  const collector = await openCollector()
  for (const batch of batches) expect((await post(collector, '/v1/batch', { batch })).status).toBe(200)
  return async (path = '') => (await fetch(`${collector.url}/api/catalogue${path}`)).json()
}

test('events that are rare among the newest have their properties in the catalogue and the plan', async () => {
  const identify = { type: 'identify', userId: 'ada', traits: { plan: 'pro' } }
  const pages = Array.from({ length: 3000 }, () => ({ type: 'page', userId: 'ada', name: 'Home' }))
  const ask = await collectorWith(
    [...Array.from({ length: 40 }, (_item, total) => order({ total })), identify],
    [{ type: 'track', userId: 'ada' }],
    pages,
  )

  const { entries, isComplete } = await ask()
  const plan = await ask('?format=schema')

  const byKey = Object.fromEntries(entries.map((one: { key: string }) => [one.key, one]))
  expect(isComplete).toBe(true)
  expect(byKey['track:Order']).toMatchObject({ properties: 1, violations: 0 })
  expect(byKey['page:Home']).toMatchObject({ properties: 0 })
  expect(byKey['identify']).toMatchObject({ properties: 1 })
  expect(byKey['track:']).toMatchObject({ accepted: 0, properties: null, violations: 0 })
  expect(plan).toMatchObject({
    track: { Order: { properties: { total: { type: 'integer' } }, required: ['total'] } },
    identify: { properties: { plan: { type: 'string' } } },
  })
  expect(plan).not.toHaveProperty('description')
  expect(new TrackingPlan({ ...plan, additionalEvents: false }).check('page', 'Home', {})).toEqual([])
})

test('O17: a property that one old event lacks is not required, nor is a key in lists of events that were not read', async () => {
  const at = { city: 'Köln', street: 'Ring' }
  const batch = Array.from({ length: 1100 }, () => order({ total: 1, note: 'x', at, items: [{ id: 1 }] }))
  const short = batch.slice(0, 5).map((one) => ({ ...one, event: 'Short' }))
  const old = order({ total: 1, at: { city: null }, items: [{}] })
  const ask = await collectorWith([old], batch, batch, short)

  const entry = await ask('/Order')
  const plan = await ask('?format=schema')

  for (const { required, properties } of [entry.schema, plan.track.Order]) {
    expect(required).toEqual(['at', 'items', 'total'])
    expect(properties.at.required).toEqual(['city'])
    expect(properties.items.items).not.toHaveProperty('required')
  }
  expect(entry).toMatchObject({ key: 'track:Order', accepted: 2201, properties: 7 })
  const note = entry.fields.find(({ path }: FoundField) => path === 'properties.note')
  expect(note.presence).toBe(0.9995)
  expect(plan.track.Short.required).toEqual(['at', 'items', 'note', 'total'])
  expect(plan.track.Short.properties.items.items.required).toEqual(['id'])
})

test('the elements of lists have their types, and are present where there is a list', async () => {
  const ask = await collectorWith([
    order({ items: [null, { id: 1 }, {}], others: [{}, 'x'], tags: ['a', 'b'] }),
    order({ items: [{ id: 2, at: { shelf: 1 } }] }),
    order({ items: [] }),
  ])

  const { fields, schema } = await ask('/Order')

  const presences = Object.fromEntries(fields.map(({ path, presence }: FoundField) => [path, presence]))
  expect(presences).toEqual({
    'properties.items': 1,
    'properties.items[]': 0.6667,
    'properties.items[].id': 1,
    'properties.items[].at': 0.5,
    'properties.items[].at.shelf': 1,
    'properties.others': 0.3333,
    'properties.others[]': 1,
    'properties.tags': 0.3333,
    'properties.tags[]': 1,
  })
  expect(schema).toMatchObject({ required: ['items'], properties: { tags: { items: { type: 'string' } } } })
  expect([...schema.properties.others.items.type].sort()).toEqual(['object', 'string'])
  expect(schema.properties.items.items).not.toHaveProperty('required')
  expect([...schema.properties.items.items.type].sort()).toEqual(['null', 'object'])
})
