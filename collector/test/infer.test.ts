import { expect, test } from 'vitest'
import { Inference } from '../src/catalogue/infer.ts'
import { schemaOf } from '../src/catalogue/schema.ts'
import { parseExact } from '../src/json/exact-json.ts'

test('a number that JavaScript cannot hold is a number in the catalogue, with its digits', () => {
  const inference = new Inference()

  inference.add('properties', parseExact('{"id":12345678901234567891,"share":0.12345678901234567891}'), '1')
  inference.add('properties', { id: 1, share: 0.5 }, '2')

  const [id, share] = inference.fields()
  expect([id?.type, id?.isInconsistent, share?.type]).toEqual(['integer', false, 'number'])
  expect(id?.values).toEqual([parseExact('12345678901234567891'), 1])
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
  expect(schemaOf(inference.fields())).toMatchObject({
    required: ['items'],
    properties: { items: { items: { required: ['id'] } } },
  })
})
