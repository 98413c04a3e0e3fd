import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createProject, FIRST_EVENT, type Project, REPOSITORY, run, runTool } from './project.ts'

const { version } = JSON.parse(readFileSync(join(REPOSITORY, 'collector', 'package.json'), 'utf8'))

let project: Project
beforeAll(() => {
  project = createProject()
}, 180_000)
afterAll(() => project?.remove())

test('the package contains its code and types, but no tests or sources', () => {
  for (const file of [
    'dist/index.js',
    'dist/index.cjs',
    'dist/index.d.ts',
    'dist/index.d.cts',
    'README.md',
    'LICENSE',
  ]) {
    expect(project.files).toContain(file)
  }
  expect(
    project.files.filter((file) => /^(src|test|bench|scripts)\/|\.test\.|tsconfig|\.db/.test(file)),
  ).toEqual([])
})

function collector(...args: string[]) {
  const bin = join(project.folder, 'node_modules/trackpost-collector/bin/trackpost-collector.js')
  return run(process.execPath, [bin, '--port', '0', ...args], project.folder)
}

test('an installation has at most 8 packages and 34 MB, of them 3 MB of the collector, and no source maps of it', () => {
  const files = readdirSync(join(project.folder, 'node_modules'), { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name))
  const packages = files.filter((file) => /node_modules\/(?:@[^/]+\/)?[^/@.]+\/package\.json$/.test(file))
  const onDisk = (paths: string[]) =>
    paths.reduce((sum, path) => sum + Math.ceil(statSync(path).size / 4096) * 4096, 0)

  expect(packages.length).toBeGreaterThan(1)
  expect(packages.length).toBeLessThanOrEqual(8)
  // SQLite for all platforms, and its source, have 30 MB.
  expect(onDisk(files)).toBeLessThan(34_000_000)
  expect(onDisk(files.filter((path) => path.includes('/node_modules/trackpost-collector/')))).toBeLessThan(
    3_000_000,
  )
  expect(project.files.filter((file) => file.endsWith('.map'))).toEqual([])
  expect(project.files).toContain('dist/LICENSES.txt')
})

test('a log does not start without trackpost-cluster, and says what to install', async () => {
  const { code, output } = await collector('--log', 'nats://127.0.0.1:1', '--store', ':memory:')

  expect(output).toBe(
    `trackpost-collector: log: needs another package: npm install trackpost-cluster@${version}\n`,
  )
  expect(code).toBe(1)
})

test('the sources never import trackpost-cluster, except by name when it is needed', () => {
  const sources = join(REPOSITORY, 'collector', 'src')
  const importing = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.d)\.ts$/.test(file))
    .filter((file) =>
      /\bfrom '(?:trackpost-cluster|[./]*cluster\/)|import '/.test(readFileSync(join(sources, file), 'utf8')),
    )

  expect(importing).toEqual([])
})

test('until the first response, no unneeded code is loaded', async () => {
  project.write(
    'loaded.mjs',
    `export async function load(url, context, next) {
      if (url.startsWith('file:')) process._rawDebug('loaded ' + url)
      return next(url, context)
    }`,
  )
  project.write(
    'first-response.mjs',
    `import { register } from 'node:module'
    register('./loaded.mjs', import.meta.url)
    const { startCollector } = await import('trackpost-collector')
    const collector = await startCollector({ port: 0 })
    const body = JSON.stringify({ writeKey: 'k', userId: 'ada', event: 'Order Completed' })
    const response = await fetch(collector.url + '/v1/track', { method: 'POST', body })
    console.log(response.status)
    await collector.close()`,
  )

  const { output } = await run(process.execPath, ['first-response.mjs'], project.folder)

  const own = [...output.matchAll(/^loaded file:\/\/(.*trackpost-collector.*)$/gm)].map(
    ([, path]) => path ?? '',
  )
  expect(output).toContain('200')
  expect(own.length).toBeGreaterThan(1)
  // The libraries for configs, plans, tokens and metrics have 800 KB. This collector needs none of them.
  expect(own.reduce((sum, path) => sum + statSync(path).size, 0)).toBeLessThan(420_000)
})

test('Jest can require the package without flags', async () => {
  project.write(
    'jest.test.cjs',
    `const { startCollector } = require('trackpost-collector')\ntest('an order', async () => {${FIRST_EVENT}})\n`,
  )
  const config = {
    testMatch: ['**/jest.test.cjs'],
    rootDir: project.folder,
    modulePathIgnorePatterns: ['workspace'],
  }

  const { code, output } = await runTool('jest', ['--config', JSON.stringify(config), '--ci'], project.folder)

  expect(output).toContain('1 passed')
  expect(code).toBe(0)
})

test('npx starts the collector, and prints its version', async () => {
  expect(await run('npx', ['trackpost-collector', '--version'], project.folder)).toMatchObject({
    code: 0,
    output: expect.stringContaining(version),
  })
  const child = spawn('npx', ['trackpost-collector', '--port', '0', '--store', ':memory:'], {
    cwd: project.folder,
    detached: true,
  })
  onTestFinished(() => {
    // npx starts a child process, so the whole process group is killed.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
  })
  const [line] = await once(child.stdout, 'data')
  const url = /http:\/\/\S+(?=,)/.exec(String(line))?.[0]

  expect((await fetch(`${url}/api/stats`)).status).toBe(200)
})
