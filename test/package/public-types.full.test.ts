import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject, type Project, REPOSITORY, runTool } from './project.ts'

let project: Project
beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project?.remove())

test('are-the-types-wrong finds nothing, under any module resolution', async () => {
  const { code, output } = await runTool('attw', [project.tarball.path, '--no-definitely-typed'])

  expect(output).toContain('No problems found')
  expect(code).toBe(0)
})

test('a program written for @segment/analytics-node compiles when only the import is changed', async () => {
  const folder = join(REPOSITORY, 'test/package/ported')
  const program = await readFile(join(folder, 'program.mts'), 'utf8')
  const ported = program.replace("from '@segment/analytics-node'", "from 'trackpost'")
  const { compilerOptions, files } = JSON.parse(await readFile(join(folder, 'tsconfig.json'), 'utf8'))
  const typeRoots = [join(REPOSITORY, 'node_modules/@types')]
  await project.write('program.mts', ported)
  const path = await project.write(
    'tsconfig.ported.json',
    JSON.stringify({ compilerOptions: { ...compilerOptions, typeRoots }, files }),
  )

  const { output } = await runTool('tsc', ['--project', path, '--pretty', 'false'], project.folder)

  expect(ported).not.toBe(program)
  expect(output).toBe('')
})
