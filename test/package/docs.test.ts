import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkDocs } from '../../scripts/check-docs.mjs'
import { REPOSITORY } from './project.ts'

test('every public name and member of the built package is documented', () => {
  const { problems, count } = checkDocs(
    ['dist/index.d.ts', 'dist/node.d.ts', 'dist/plugins.d.ts'].map((path) => join(REPOSITORY, path)),
  )

  expect(problems).toEqual([])
  expect(count).toBeGreaterThan(350)
})
