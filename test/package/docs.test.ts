import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkDocs } from '../../scripts/check-docs.mjs'
import { ENTRIES } from '../../tsup.config.ts'
import { REPOSITORY } from './project.ts'

test('every public name and member of the built package is documented', () => {
  const { problems, count } = checkDocs(
    ['index', ...ENTRIES].map((name) => join(REPOSITORY, `dist/${name}.d.ts`)),
  )

  expect(problems).toEqual([])
  expect(count).toBeGreaterThan(350)
})
