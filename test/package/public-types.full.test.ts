import { join } from 'node:path'
import { expect, test } from 'vitest'
import { REPOSITORY, run } from './project.ts'

test('the public types agree with the report in test/package/public-types.api.md', async () => {
  const script = join(REPOSITORY, 'scripts/report-types.mjs')
  const { code, output } = await run(process.execPath, [script, '--check'])

  expect(output, '`npm run report:types` writes the report').toBe('')
  expect(code).toBe(0)
})
