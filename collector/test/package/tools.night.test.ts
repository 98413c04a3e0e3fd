import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fetchPackages } from '../../../scripts/fetch-packages.mjs'
import { createProject, link, type Project, REPOSITORY, run, runTool } from './project.ts'

let project: Project
beforeAll(() => {
  project = createProject()
  for (const name of ['typescript', '@types/node']) link(project, name)
}, 180_000)
afterAll(() => project?.remove())

test('with strict settings, the TypeScript of the README and the types of the package compile, the types also with TypeScript 5.0', async () => {
  const readme = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8')
  const blocks = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code ?? '')
  for (const [index, code] of blocks.entries())
    project.write(`readme-${index}.test.mts`, `${code}\nexport {}\n`)
  project.write(
    'tsconfig.json',
    JSON.stringify({
      compilerOptions: {
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        module: 'NodeNext',
        target: 'ES2022',
        types: ['node'],
        noEmit: true,
        skipLibCheck: true,
        allowImportingTsExtensions: true,
        paths: { trackpost: [join(REPOSITORY, 'dist', 'index.d.ts')] },
      },
      include: ['readme-*.mts'],
    }),
  )
  project.write(
    'own-types.ts',
    `import { type CollectorOptions, startCollector } from 'trackpost-collector'\nexport const options: CollectorOptions = { config: { sources: [{ name: 'a', writeKey: 'k' }] } }\nvoid startCollector(options)\n`,
  )

  const readmeResult = await runTool('tsc', ['-p', project.folder], project.folder)
  const own = [
    '--strict',
    // Checks the libraries, but not the declarations of TypeScript itself.
    '--skipDefaultLibCheck',
    '--noEmit',
    '--module',
    'NodeNext',
    '--target',
    'ES2022',
    '--types',
    'node',
    'own-types.ts',
  ]
  const ownResult = await runTool('tsc', own, project.folder)
  // Types of other packages, such as those of Node.js, may need a newer version.
  const oldest = join(await fetchPackages('test/package/compilers'), 'node_modules/typescript-5.0/bin/tsc')
  const { output } = await run(process.execPath, [oldest, ...own], project.folder)

  expect(blocks.length).toBeGreaterThan(1)
  expect(readmeResult).toMatchObject({ code: 0, stdout: '' })
  expect(ownResult).toMatchObject({ code: 0, stdout: '' })
  expect(
    output.split('\n').filter((line) => /^(?:node_modules\/trackpost|own-types|error)/.test(line)),
  ).toEqual([])
}, 300_000)

test('publint and attw find no problem', async () => {
  const [publint, attw] = await Promise.all([
    runTool('publint', ['--strict', project.tarball], project.folder),
    runTool('attw', [project.tarball], project.folder),
  ])

  expect(publint).toMatchObject({ code: 0, output: expect.stringContaining('All good') })
  expect(attw).toMatchObject({ code: 0, output: expect.stringContaining('No problems found') })
})
