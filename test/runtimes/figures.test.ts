import { execFile } from 'node:child_process'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProject, type Project } from '../package/project.ts'

/** Bytes, minified and gzipped, dependencies included, jose left out. */
const MAX_BUNDLE_BYTES = { node: 21_500, workerd: 20_800 }
/** KiB on disk, in blocks, as `du` counts. jose alone takes 536 of them. */
const MAX_INSTALLED_KIB = { all: 1_220, withoutJose: 680 }
const MAX_PACKAGES = 5
const MAX_IMPORT_MS = 10

let project: Project

beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project?.remove())

test.each([
  ['node', { platform: 'node' }],
  ['workerd', { platform: 'browser', conditions: ['workerd', 'worker', 'browser'] }],
] as const)('the bundle of `import { Analytics }` for %s stays within its budget', async (name, options) => {
  const entry = await project.write('bundle.mjs', `export { Analytics } from 'trackpost'\n`)

  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    external: ['jose'],
    write: false,
    logLevel: 'silent',
    platform: options.platform,
    ...('conditions' in options && { conditions: [...options.conditions] }),
  })

  expect(outputFiles).toHaveLength(1)
  const minified = outputFiles[0]?.contents ?? new Uint8Array()
  const gzipped = gzipSync(minified, { level: 9 }).length
  console.log(`bundle for ${name}: ${minified.length} bytes minified, ${gzipped} gzipped`)
  expect(gzipped).toBeLessThanOrEqual(MAX_BUNDLE_BYTES[name])
  expect(gzipped).toBeGreaterThan(5_000)
})

/** KiB on disk of a file or folder. */
async function diskUsage(path: string): Promise<number> {
  const { blocks } = await lstat(path)
  const names = await readdir(path).catch(() => [])
  const sizes = await Promise.all(names.map((name) => diskUsage(join(path, name))))
  return sizes.reduce((sum, size) => sum + size, blocks / 2)
}

/** Folders of installed packages below `node_modules`. */
async function packages(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.'))
  const found = await Promise.all(
    names.map((name) => (name.startsWith('@') ? packages(join(folder, name)) : [join(folder, name)])),
  )
  return found.flat()
}

test('what is installed stays within its budget', async () => {
  const folder = join(project.folder, 'node_modules')
  const paths = await packages(folder)

  const sizes = await Promise.all(paths.map(diskUsage))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const jose = sizes[paths.findIndex((path) => path.endsWith('/jose'))] ?? 0
  console.log(`installed: ${total} KiB, of which jose ${jose}; ${paths.length} packages`)
  expect(paths.length).toBeLessThanOrEqual(MAX_PACKAGES)
  expect(paths.length).toBeGreaterThanOrEqual(3)
  expect(total).toBeLessThanOrEqual(MAX_INSTALLED_KIB.all)
  expect(total - jose).toBeLessThanOrEqual(MAX_INSTALLED_KIB.withoutJose)
})

test('no package runs anything when it is installed', async () => {
  for (const path of await packages(join(project.folder, 'node_modules'))) {
    const { scripts = {}, gypfile } = JSON.parse(await readFile(join(path, 'package.json'), 'utf8'))
    const hooks = ['preinstall', 'install', 'postinstall'].filter((name) => name in scripts)
    expect([path, hooks, gypfile]).toEqual([path, [], undefined])
  }
})

describe('the import', () => {
  const LOADS = {
    'import.mjs': `
const start = performance.now(); await import('./empty.mjs')
const middle = performance.now(); await import('trackpost')
console.log(performance.now() - middle - (middle - start))`,
    'require.cjs': `
const start = performance.now(); require('./empty.cjs')
const middle = performance.now(); require('trackpost')
console.log(performance.now() - middle - (middle - start))`,
  }

  test.each(Object.entries(LOADS))(
    'takes little more than that of an empty module: %s',
    async (name, text) => {
      const path = await project.write(name, text)
      await project.write('empty.mjs', 'export default 1\n')
      await project.write('empty.cjs', 'module.exports = 1\n')

      const millis: number[] = []
      for (let run = 0; run < 15; run++) {
        const output = await new Promise<string>((resolve, reject) => {
          execFile(process.execPath, [path], (error, stdout) =>
            error === null ? resolve(stdout) : reject(error),
          )
        })
        millis.push(Number(output))
      }

      // Of the quickest runs: what else the machine does only ever adds to a run.
      const quick = millis.sort((a, b) => a - b)[2] as number
      console.log(`${name}: ${quick.toFixed(1)} ms more than an empty module`)
      expect(quick).toBeGreaterThan(0)
      expect(quick).toBeLessThanOrEqual(MAX_IMPORT_MS)
    },
  )
})
