import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { findMutants, withMutants } from '../../scripts/mutation/mutants.mjs'

/** Runs a script that contains all its mutants (small faults). Only the mutant number `awake` is active; 0 activates none. */
function run(text: string, awake = 0): unknown {
  const script = withMutants('script.ts', text, (index) => index + 1)
  return runInNewContext(script, { isMutant: (number: number) => number === awake })
}

describe('a file with inactive mutants works as before', () => {
  test.each([
    ['a count after a line without a semicolon', 'let a = 1\na++\na', 2],
    ['a sum after a call', 'let a = 1\nString(a)\na += 2\na', 3],
    [
      'a statement that begins with a condition',
      'let a = 1\nconst set = () => (a = 5)\na === 1 && set()\na',
      5,
    ],
    ['a statement of an if with an else', 'let a = 1\nif (a > 3) a++\nelse a += 4\na', 5],
    ['a loop', 'let a = 0\nfor (let i = 0; i < 4; i++) a += i\na', 6],
    ['a call', 'const all = []\nall.push(1)\nall.push(2)\nall.length', 2],
    ['a body', 'function f() { return 7 }\nf()', 7],
  ])('%s', (_label, text, result) => {
    expect(findMutants('script.ts', text).length).toBeGreaterThan(0)
    expect(run(text)).toBe(result)
  })
})

test('only the active mutant has an effect', () => {
  const text = 'let a = 1\na++\na += 2\na'
  const kinds = findMutants('script.ts', text).map(({ kind }) => kind)

  const results = kinds.map((_, index) => run(text, index + 1))

  expect(kinds).toEqual(['one more', 'to --', '+= to -=', 'one more'])
  expect(results).toEqual([5, 2, 0, 5])
})
