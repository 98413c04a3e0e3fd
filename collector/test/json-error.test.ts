import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findJsonError } from '../src/json/json-error.ts'

test.each([
  ['', 0, 'a value'],
  ['{"a":1,}', 7, 'a key in double quotes'],
  ['{"a" 1}', 5, '":"'],
  ['{"a":1 "b":2}', 7, '"," or "}"'],
  ['[1,2', 4, '"," or "]"'],
  ['[1,]', 3, 'a value'],
  ["{'a':1}", 1, 'a key in double quotes'],
  ['{"a":NaN}', 5, 'a value'],
  ['{"a":"\0"}', 6, 'the end of the string'],
  ['{"a":"\\u12"}', 6, 'a valid escape'],
  ['{} {}', 3, 'the end of the body'],
  ['[01]', 2, '"," or "]"'],
])('in %j the error is at %i: expected %s', (text, offset, expected) => {
  const error = findJsonError(text)

  expect(error).toMatchObject({ offset })
  expect(error?.message).toContain(`expected ${expected}`)
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
