import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { install, pack, type Tarball } from '../../scripts/install-packed.mjs'
import { run, runTool } from '../../test/package/project.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'trackpost-cluster-package-')))
let packed: Tarball
beforeAll(() => {
  packed = pack('cluster', folder)
  install(folder, pack('collector', folder), packed)
}, 180_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the package contains its code, its types and the files to deploy, but no tests or sources', () => {
  for (const file of ['dist/index.js', 'dist/index.d.ts', 'deploy/kubernetes.yaml', 'README.md', 'LICENSE'])
    expect(packed.files).toContain(file)
  expect(packed.files.filter((file) => /^(src|test|bench|scripts|docs)\/|tsconfig/.test(file))).toEqual([])
})

test('the client of a server is loaded only when it is needed', () => {
  const entry = readFileSync(join(folder, 'node_modules/trackpost-cluster/dist/index.js'), 'utf8')

  expect(entry).toMatch(/await import\("\.\/open-/)
  expect(entry.match(/^import .*/gm)).toEqual(['import { readFileSync } from "fs";'])
})

test('publint and attw find no problem', async () => {
  const [publint, attw] = await Promise.all([
    runTool('publint', ['--strict', packed.path], folder),
    runTool('attw', [packed.path, '--profile', 'esm-only'], folder),
  ])

  expect(publint).toMatchObject({ code: 0, output: expect.stringContaining('All good') })
  // It reports what it was told to ignore, that CommonJS has to use `import()`, and fails because of anything else.
  expect(attw.code).toBe(0)
}, 60_000)

test.each([
  ['a store on PostgreSQL', ['--store', 'postgres://u@127.0.0.1:1/db'], 'ECONNREFUSED', 1],
  ['an address of a log that is wrong', ['--log', 'nats://a b'], 'expected nats://', 1],
])('the installed collector opens %s with the installed package', async (_, args, says, expected) => {
  const bin = join(folder, 'node_modules/trackpost-collector/bin/trackpost-collector.js')

  const { code, output } = await run(process.execPath, [bin, '--port', '0', ...args], folder)

  expect(output).toContain(says)
  expect(code).toBe(expected)
})

test('a CommonJS program can use the store on PostgreSQL, and gets the errors of its own collector', () => {
  const program = `
    const { ConfigError, startCollector } = require('trackpost-collector')
    startCollector({ port: 0, store: 'postgres://u@127.0.0.1:1/db' }).catch((cause) => {
      console.log(cause instanceof ConfigError, cause.message.includes('ECONNREFUSED'))
    })`

  expect(execFileSync(process.execPath, ['--eval', program], { cwd: folder, encoding: 'utf8' })).toBe(
    'true true\n',
  )
})
