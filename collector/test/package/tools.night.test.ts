import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fetchPackages } from '../../../scripts/fetch-packages.mjs'
import { createProject, FIRST_EVENT, link, type Project, REPOSITORY, run, runTool } from './project.ts'

let project: Project
beforeAll(() => {
  project = createProject()
  for (const name of ['vitest', 'typescript', '@types/node']) link(project, name)
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

test('tokens work in Jest, although the library for them is an ES module', async () => {
  project.write(
    'tokens.test.cjs',
    `const { generateKeyPairSync } = require('node:crypto')
    const { startCollector } = require('trackpost-collector')
    test('a collector with OAuth', async () => {
      const { publicKey } = generateKeyPairSync('rsa', {
        modulusLength: 2048,
        publicKeyEncoding: { type: 'spki', format: 'pem' },
        privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      })
      const oauth = { applications: [{ clientId: 'app', keys: [{ keyId: 'k1', publicKey }] }] }
      const collector = await startCollector({ port: 0, config: { oauth } })
      const refused = await fetch(collector.url + '/token', {
        method: 'POST',
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      })
      await collector.close()
      expect(refused.status).toBe(400)
    })\n`,
  )
  const config = {
    testMatch: ['**/tokens.test.cjs'],
    rootDir: project.folder,
    modulePathIgnorePatterns: ['workspace'],
  }

  const { code, output } = await runTool('jest', ['--config', JSON.stringify(config), '--ci'], project.folder)

  expect(output).toContain('1 passed')
  expect(code).toBe(0)
}, 120_000)

test('Vitest can import the package', async () => {
  project.write(
    'vitest.test.mjs',
    `import { startCollector } from 'trackpost-collector'\nimport { expect, test } from 'vitest'\ntest('an order', async () => {${FIRST_EVENT}})\n`,
  )

  const { code, output } = await runTool(
    'vitest',
    ['run', 'vitest.test.mjs', '--root', project.folder],
    project.folder,
  )

  expect(output).toContain('1 passed')
  expect(code).toBe(0)
}, 120_000)
