import { afterEach, expect, test } from 'vitest'
import { elementAt } from '../../src/errors/guard.ts'

const ODD = ['0', '1', '-1', '5']

afterEach(() => {
  for (const key of ODD) delete (Object.prototype as Record<string, unknown>)[key]
})

test.each([
  [0, 'a'],
  [1, 'b'],
  [-1, 'b'],
  [-2, 'a'],
  [2, undefined],
  [-3, undefined],
  [5, undefined],
  [Number.NaN, undefined],
])(
  'the element at %d is %s, even if Object.prototype has properties with numbers as names',
  (index, element) => {
    for (const key of ODD) (Object.prototype as Record<string, unknown>)[key] = 'odd'

    expect(elementAt(['a', 'b'], index)).toBe(element)
    expect(elementAt([], index)).toBeUndefined()
  },
)
