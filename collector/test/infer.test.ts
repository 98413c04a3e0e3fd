import { expect, test } from 'vitest'
import { Inference } from '../src/catalogue/infer.ts'
import { parseExact } from '../src/json/exact-json.ts'

test('a number that JavaScript cannot hold is a number in the catalogue, with its digits', () => {
  const inference = new Inference()

  inference.add('properties', parseExact('{"id":12345678901234567891,"share":0.12345678901234567891}'), '1')
  inference.add('properties', { id: 1, share: 0.5 }, '2')

  const [id, share] = inference.fields()
  expect([id?.type, id?.isInconsistent, share?.type]).toEqual(['integer', false, 'number'])
  expect(id?.values).toEqual([parseExact('12345678901234567891'), 1])
})
