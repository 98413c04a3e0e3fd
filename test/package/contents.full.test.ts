import { readFile, symlink } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ENTRIES } from '../../tsup.config.ts'
import { createProject, type Project, REPOSITORY, run, runTool } from './project.ts'

let project: Project

beforeAll(async () => {
  project = await createProject()
  // `trackpost/msw` needs msw, an optional peer dependency.
  await symlink(join(REPOSITORY, 'node_modules/msw'), join(project.folder, 'node_modules/msw'))
})
afterAll(() => project?.remove())

async function readJson(path: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(path, 'utf8'))
}

test('S40: the tarball holds these files and no others', () => {
  // Names of shared chunks contain a hash of their content, which is left out here.
  const names = project.tarball.files.map((path) =>
    path.replace(/\w+-[A-Za-z0-9_-]{8}\.d\.cts$/, '[types].d.cts').replace(/-[A-Z0-9]{8}\.js$/, '-[hash].js'),
  )
  const entries = ['index', ...ENTRIES].flatMap((name) =>
    ['cjs', 'd.cts', 'd.ts', 'js'].map((extension) => `dist/${name}.${extension}`),
  )

  expect(new Set(names)).toEqual(
    new Set([
      'LICENSE',
      'README.md',
      'bin/trackpost.js',
      'dist/[types].d.cts',
      'dist/compress-[hash].js',
      'dist/LICENSES.txt',
      'dist/tokens-[hash].js',
      'dist/platform.node.js',
      'dist/platform.web.js',
      'dist/shared.js',
      'dist/verify-[hash].js',
      'package.json',
      ...entries,
    ]),
  )
})

test('each entry point exports the same to ES modules and to CommonJS', async () => {
  const text = `import { createRequire } from 'node:module'
    const require = createRequire(import.meta.url)
    const kinds = (module) => Object.entries(module).map(([name, value]) => [name, typeof value]).sort()
    const both = async (name) => [name, kinds(await import(name)), kinds(require(name))]
    console.log(JSON.stringify(await Promise.all(process.argv.slice(2).map(both))))`
  const names = ['trackpost', ...ENTRIES.map((name) => `trackpost/${name}`)]

  const { output } = await run(
    process.execPath,
    [await project.write('kinds.mjs', text), ...names],
    project.folder,
  )

  const found = JSON.parse(output) as [name: string, esm: string[][], cjs: string[][]][]
  expect(found.map(([name]) => name)).toEqual(names)
  for (const [name, esm, cjs] of found) {
    expect(cjs, name).toEqual(esm)
    expect(esm.length, name).toBeGreaterThan(0)
    const file = name === 'trackpost' ? 'index' : name.slice('trackpost/'.length)
    const types = await readFile(join(project.folder, `node_modules/trackpost/dist/${file}.d.ts`), 'utf8')
    expect(types.includes(' as default '), name).toBe(esm.some(([one]) => one === 'default'))
  }
})

test('the classes that users compare with `instanceof` exist once, whichever entry points a program loads', async () => {
  const texts = await Promise.all(
    project.tarball.files
      .filter((path) => /\.c?js$/.test(path))
      .map((path) => readFile(join(project.folder, 'node_modules/trackpost', path), 'utf8')),
  )
  for (const name of ['Analytics', 'Context', 'TrackpostError', 'SettingsError', 'DeliveryError']) {
    const definition = new RegExp(`\\bclass ${name}\\b|\\b${name}\\s*=\\s*class\\b`)
    // One definition for ES modules, one for CommonJS.
    expect(texts.filter((text) => definition.test(text)).length, name).toBe(2)
  }
})

test('publint finds nothing, not even a suggestion', async () => {
  const { code, output } = await runTool('publint', ['run', project.tarball.path, '--strict'])

  expect(output).toContain('All good!')
  expect(code).toBe(0)
})

test('S37: nothing runs when the package is installed', async () => {
  const { scripts } = await readJson(join(project.folder, 'node_modules/trackpost/package.json'))

  for (const name of ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish']) {
    expect(scripts).not.toHaveProperty(name)
  }
})

test('S40: no file in the tarball contains the path where it was built', async () => {
  for (const path of project.tarball.files) {
    const text = await readFile(join(project.folder, 'node_modules/trackpost', path), 'utf8')
    expect(text, path).not.toContain(REPOSITORY)
  }
})

test('modules of Node.js are imported with their prefix, which other runtimes require', async () => {
  const bare = new RegExp(`(?:from|import|require)[ (]*"(?:${builtinModules.join('|')})"`)

  for (const path of project.tarball.files.filter((path) => /\.c?js$/.test(path))) {
    const text = await readFile(join(project.folder, 'node_modules/trackpost', path), 'utf8')
    expect(bare.exec(text)?.[0], path).toBeUndefined()
  }
})
