import { expect, test } from 'vitest'
import { Inference } from '../src/catalogue/infer.ts'
import { schemaOf } from '../src/catalogue/schema.ts'

test('objects beside null in an array are a type of its elements', () => {
  const inference = new Inference()

  inference.add('properties', { items: [null, { id: 1 }, {}], others: [{}, 'x'] }, '1')

  const { properties } = schemaOf(inference.fields(), 'everywhere')
  expect(properties?.['items']?.items).toEqual({
    type: ['object', 'null'],
    properties: { id: { type: 'integer' } },
  })
  expect(properties?.['others']?.items).toEqual({ type: ['string', 'object'], properties: {} })
  const elements = inference.fields().find(({ path }) => path === 'properties.items[]')
  expect(elements?.types.map(({ type, count, share }) => [type, count, share])).toEqual([
    ['object', 2, 0.6667],
    ['null', 1, 0.3333],
  ])
})

test('a key that is missing once in 60,000 times is not required, and not present everywhere', () => {
  const inference = new Inference()
  const items = Array.from({ length: 60_000 }, (_, n) => (n === 40_000 ? { id: n } : { id: n, name: 'x' }))

  inference.add('properties', { items }, '1')

  expect(inference.fields().find(({ path }) => path.endsWith('name'))?.presence).toBe(0.9999)
  expect(schemaOf(inference.fields(), 'everywhere').properties?.['items']?.items?.required).toEqual(['id'])
})

test('a key of objects in arrays is required only if all these objects have it', () => {
  const inference = new Inference()

  inference.add('properties', { items: [{ id: 1, name: 'tea' }, { id: 2 }], tags: ['a', 'b'] }, '1')
  inference.add(
    'properties',
    {
      items: [
        { id: 3, at: { shelf: 1 } },
        { id: 4, name: 'mug' },
      ],
    },
    '2',
  )
  inference.add('properties', { items: [] }, '3')

  const presences = Object.fromEntries(inference.fields().map(({ path, presence }) => [path, presence]))
  expect(presences).toEqual({
    'properties.items': 1,
    'properties.items[].id': 1,
    'properties.items[].name': 0.5,
    'properties.items[].at': 0.25,
    'properties.items[].at.shelf': 0.25,
    'properties.tags': 0.3333,
    'properties.tags[]': 0.6667,
  })
  expect(schemaOf(inference.fields(), 'everywhere')).toMatchObject({
    required: ['items'],
    properties: { items: { items: { required: ['id'] } } },
  })
})

test('an object with a long key costs no more time for each of its values', () => {
  const cpuMs = (key: string) => {
    const text = JSON.stringify({ [key]: Object.fromEntries(Array.from({ length: 1500 }, (_, n) => [n, n])) })
    const events = Array.from({ length: 50 }, () => JSON.parse(text) as unknown)
    const inference = new Inference()
    const before = process.cpuUsage()
    for (const [id, properties] of events.entries()) inference.add('properties', properties, String(id))
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  }
  cpuMs('k')

  expect(cpuMs('k'.repeat(16_000)) / cpuMs('k')).toBeLessThan(10)
})
