import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findJsonError, positionOf } from '../src/json/json-error.ts'

test.each([
  ['', 0, 'expected a value'],
  ['{"a":1,}', 7, 'expected a key in double quotes'],
  ["{'a':1}", 1, 'expected a text in double quotes'],
  ['{"a":NaN}', 5, 'expected a text in double quotes, a number'],
  ['{"a":"\0"}', 5, 'has a control character'],
  ['{} {}', 3, 'expected the end of the body'],
])('in %j the error is at %i: %s', (text, offset, expected) => {
  const error = findJsonError(text)

  expect(error).toMatchObject({ offset })
  expect(error?.message).toContain(expected)
})

test('a place in a valid text is that of the value, or of the nearest one around it', () => {
  const text = '{\n  "a": [1, {"b": 2}]\n}'

  expect(positionOf(text, ['a', 1, 'b'])).toMatchObject({ line: 2, column: 18 })
  expect(positionOf(text, ['a', 1, 'c'])).toMatchObject({ line: 2, column: 12 })
  expect(positionOf(text, ['x'])).toMatchObject({ line: 1, column: 1 })
})

test('line and column are counted from 1', () => {
  expect(findJsonError('{\n  "a": 1,\n  "ö": oops\n}')).toMatchObject({ line: 3, column: 8, offset: 19 })
})

const mutated = fc
  .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', ']', '{', '0', 'e', '\\', '\n', ':', '-'))
  .map(([text, at, insert]) => {
    const position = at % (text.length + 1)
    return text.slice(0, position) + insert + text.slice(position + (insert === '' ? 1 : 0))
  })

test('an error is found if and only if JSON.parse refuses the text, and it is the first error in the text', () => {
  let refused = 0
  fc.assert(
    fc.property(mutated, (text) => {
      const error = findJsonError(text)
      const isJson = (() => {
        try {
          JSON.parse(text)
          return true
        } catch {
          return false
        }
      })()
      expect(error === undefined).toBe(isJson)
      if (error === undefined) return
      refused++
      expect(findJsonError(text.slice(0, error.offset))?.offset ?? error.offset).toBe(error.offset)
    }),
    { numRuns: 5000 },
  )
  expect(refused).toBeGreaterThan(500)
})
