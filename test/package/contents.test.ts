import { readFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject, type Project, REPOSITORY, runTool } from './project.ts'

let project: Project

beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project?.remove())

async function readJson(path: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(path, 'utf8'))
}

test('the tarball holds these files and no others', () => {
  // Files that the build splits off carry a hash of their content in the name.
  const names = project.tarball.files.map((path) => path.replace(/-[A-Za-z0-9]{8}\./, '-[hash].'))

  expect(names).toEqual([
    'LICENSE',
    'README.md',
    'dist/chunk-[hash].js',
    'dist/chunk-[hash].js',
    'dist/chunk-[hash].js',
    'dist/chunk-[hash].js',
    'dist/client-[hash].d.cts',
    'dist/client-[hash].d.ts',
    'dist/create-oauth-credentials-[hash].js',
    'dist/index.cjs',
    'dist/index.d.cts',
    'dist/index.d.ts',
    'dist/index.js',
    'dist/node-client-[hash].js',
    'dist/node.cjs',
    'dist/node.d.cts',
    'dist/node.d.ts',
    'dist/node.js',
    'dist/plugin-[hash].d.cts',
    'dist/plugin-[hash].d.ts',
    'dist/plugins.cjs',
    'dist/plugins.d.cts',
    'dist/plugins.d.ts',
    'dist/plugins.js',
    'dist/verify-[hash].js',
    'dist/web/chunk-[hash].js',
    'dist/web/chunk-[hash].js',
    'dist/web/create-oauth-credentials-[hash].js',
    'dist/web/index.js',
    'dist/web/verify-[hash].js',
    'package.json',
  ])
})

test('publint finds nothing, not even a suggestion', async () => {
  const { code, output } = await runTool('publint', ['run', project.tarball.path, '--strict'])

  expect(output).toContain('All good!')
  expect(code).toBe(0)
})

test('are-the-types-wrong finds nothing, under any module resolution', async () => {
  const { code, output } = await runTool('attw', [project.tarball.path, '--no-definitely-typed'])

  expect(output).toContain('No problems found')
  expect(code).toBe(0)
})

test('nothing runs when the package is installed', async () => {
  const { scripts } = await readJson(join(project.folder, 'node_modules/trackpost/package.json'))

  for (const name of ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish']) {
    expect(scripts).not.toHaveProperty(name)
  }
})

test('no file in the tarball knows where it was built', async () => {
  for (const path of project.tarball.files) {
    const text = await readFile(join(project.folder, 'node_modules/trackpost', path), 'utf8')
    expect(text, path).not.toContain(REPOSITORY)
  }
})

test('modules of Node.js carry their prefix, which other runtimes ask for', async () => {
  const bare = new RegExp(`(?:from|import|require)[ (]*"(?:${builtinModules.join('|')})"`)

  for (const path of project.tarball.files.filter((path) => /\.c?js$/.test(path))) {
    const text = await readFile(join(project.folder, 'node_modules/trackpost', path), 'utf8')
    expect(bare.exec(text)?.[0], path).toBeUndefined()
  }
})

test('the lockfile names no registry', async () => {
  const { packages } = (await readJson(join(REPOSITORY, 'package-lock.json'))) as {
    packages: Record<string, { resolved?: string; link?: boolean; integrity?: string }>
  }

  // A workspace is a link, and `resolved` is its folder.
  const resolved = Object.entries(packages).filter(([, { resolved, link }]) => resolved && !link)

  expect(resolved).toEqual([])
  expect(packages['node_modules/typescript']?.integrity).toMatch(/^sha512-/)
})
