import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createProject, type Project, REPOSITORY, run, runTool } from './project.ts'

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

test('Jest can require the package without flags, although the library for tokens is an ES module', async () => {
  project.write(
    'jest.test.cjs',
    `const { generateKeyPairSync } = require('node:crypto')
    const { startCollector } = require('trackpost-collector')
    test('an order, and a token request', async () => {
      const { publicKey } = generateKeyPairSync('rsa', {
        modulusLength: 2048,
        publicKeyEncoding: { type: 'spki', format: 'pem' },
        privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      })
      const oauth = { applications: [{ clientId: 'app', keys: [{ keyId: 'k1', publicKey }] }] }
      const collector = await startCollector({ port: 0, config: { oauth } })
      const send = (path, body) => fetch(collector.url + path, { method: 'POST', body })
      const event = { writeKey: 'k', userId: 'ada', event: 'Order Completed' }
      const { status } = await send('/v1/track', JSON.stringify(event))
      const [order] = await collector.waitFor({ event: 'Order Completed' })
      const refused = await send('/token', new URLSearchParams({ grant_type: 'client_credentials' }))
      const page = await fetch(collector.url + '/')
      await collector.close()
      expect([status, order.userId, refused.status, page.status]).toEqual([200, 'ada', 400, 200])
    })\n`,
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
