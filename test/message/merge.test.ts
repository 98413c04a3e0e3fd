import { expect, test } from 'vitest'
import { mergeDeep } from '../../src/message/merge.ts'

test('object literals are merged level by level, and neither argument is changed', () => {
  const base = { app: { name: 'shop', build: { number: 1 } }, ip: '192.0.2.1' }
  const over = { app: { build: { tag: 'v2' } }, ip: null, locale: undefined }

  expect(mergeDeep(base, over)).toEqual({ app: { name: 'shop', build: { number: 1, tag: 'v2' } }, ip: null })
  expect(base).toEqual({ app: { name: 'shop', build: { number: 1 } }, ip: '192.0.2.1' })
  expect(over).toEqual({ app: { build: { tag: 'v2' } }, ip: null, locale: undefined })
})

test.each([['a text'], [['a list']], [new Date(0)], [null], [5]])(
  'an object literal replaces %o, and the result has a copy of the literal',
  (below) => {
    const value = { number: 1 }

    const merged = mergeDeep({ value: below }, { value })
    value.number = 2

    expect(merged).toEqual({ value: { number: 1 } })
  },
)

test('an object that contains itself is copied once, and the copy refers to the original', () => {
  const loop: Record<string, unknown> = {}
  loop['a'] = loop
  loop['b'] = loop

  expect(mergeDeep({}, { loop })).toEqual({ loop: { a: loop, b: loop } })
})
