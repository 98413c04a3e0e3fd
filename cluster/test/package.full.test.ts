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
  const wanted = [
    'bin/trackpost-cluster.js',
    'dist/index.js',
    'dist/index.d.ts',
    'deploy/kubernetes.yaml',
    'README.md',
    'LICENSE',
  ]
  for (const file of wanted) expect(packed.files).toContain(file)
  expect(packed.files.filter((file) => /^(src|test|scripts)\/|tsconfig/.test(file))).toEqual([])
})

test('the client of a database is loaded only when it is needed', () => {
  const dist = join(folder, 'node_modules/trackpost-cluster/dist')
  const imported = new Set<string>()
  const visit = (file: string) => {
    if (imported.has(file)) return
    imported.add(file)
    if (!file.startsWith('./')) return
    const text = readFileSync(join(dist, file), 'utf8')
    for (const [, from = ''] of text.matchAll(/^(?:import|export) .*?"([^"]+)";$/gms)) visit(from)
  }
  visit('./cli.js')

  expect(imported).toContain('trackpost-collector')
  expect([...imported].filter((name) => /^pg$|clickhouse/.test(name))).toEqual([])
})

test('publint finds no problem', async () => {
  const publint = await runTool('publint', ['--strict', packed.path], folder)

  expect(publint).toMatchObject({ code: 0, output: expect.stringContaining('All good') })
})

test.each([
  [['--version'], /^\d+\.\d+\.\d+\n$/, 0],
  [['work', '--log', 'nats://a'], /--to: expected the URL/, 1],
  [['work', '--log', 'nats://a', '--to', 'kafka://a'], /to: expected clickhouse:/, 1],
  [['front', '--log', 'nats://127.0.0.1:1', '--config', '/nowhere.json'], /nowhere\.json/, 1],
])('the installed command answers %j', async (args, says, expected) => {
  const bin = join(folder, 'node_modules/trackpost-cluster/bin/trackpost-cluster.js')

  const { code, output } = await run(process.execPath, [bin, ...args], folder)

  expect(output).toMatch(says)
  expect(code).toBe(expected)
})

test('the installed collector finds the installed package', async () => {
  const bin = join(folder, 'node_modules/trackpost-collector/bin/trackpost-collector.js')

  const { code, output } = await run(
    process.execPath,
    [bin, '--store', ':memory:', '--port', '0', '--log', 'nats://a b'],
    folder,
  )

  expect(output).toContain('log: expected nats://')
  expect(code).toBe(1)
})
