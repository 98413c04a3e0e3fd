import { expect, test } from 'vitest'
import { mergeDeep } from '../../src/message/merge.ts'

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
