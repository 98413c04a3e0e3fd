import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, test } from 'vitest'
import { ndjson, newFile, newFolder, REPOSITORY, run, startCollector, startServer } from './support.ts'

const readme = readFileSync(join(REPOSITORY, 'cli/README.md'), 'utf8')

test('the package contains its code and its launcher, but no tests or sources', () => {
  const folder = join(inject('project'), 'node_modules/trackpost-cli')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\.\w+$|LICENSE/.test(path),
  )

  expect(files.filter((path) => !path.startsWith('dist/')).sort()).toEqual([
    'LICENSE',
    'README.md',
    'bin/trackpost.js',
    'package.json',
  ])
  expect(files.filter((path) => path.startsWith('dist/') && !path.endsWith('.js'))).toEqual([
    'dist/LICENSES.txt',
  ])
})

test('at most 6 packages are installed', () => {
  const { packages } = JSON.parse(
    readFileSync(join(inject('project'), 'node_modules/.package-lock.json'), 'utf8'),
  ) as { packages: Record<string, unknown> }

  expect(Object.keys(packages).length, Object.keys(packages).join(', ')).toBeLessThanOrEqual(6)
})

test('the package includes the licences of the packages in its build', () => {
  const path = join(inject('project'), 'node_modules/trackpost-cli/dist/LICENSES.txt')
  const names = readFileSync(path, 'utf8').match(/^@?[a-z][\w/-]+(?=@\d[\d.]+$)/gm)

  expect(names).toEqual(expect.arrayContaining(['ajv', 'jose', 'json-schema-to-typescript']))
})

test('publint finds no problem', () => {
  const tarball = readdirSync(inject('project')).find((name) => name.endsWith('.tgz')) as string
  const output = execFileSync(
    join(REPOSITORY, 'node_modules/.bin/publint'),
    ['--strict', join(inject('project'), tarball)],
    {
      encoding: 'utf8',
    },
  )

  expect(output).toContain('All good')
})

test.each(['trackpost', 'trackpost-cli'])('npx runs the installed command: %s', (name) => {
  const { status, stdout } = spawnSync('npx', ['--no', name, '--version'], {
    cwd: inject('project'),
    encoding: 'utf8',
  })

  expect([status, stdout]).toEqual([0, expect.stringMatching(/\d+\.\d+\.\d+\n$/)])
})

test('no document says `npx trackpost`, because it would install the SDK, which has no command', () => {
  const { stdout } = spawnSync('git', ['grep', '-nE', 'npx trackpost( |$|`)', '--', '*.md'], {
    cwd: REPOSITORY,
    encoding: 'utf8',
  })

  expect(stdout).toBe('')
})

const runtimes = join(REPOSITORY, '.cache/runtimes')
const nodes = ['18', '22', '24', '26'].map((major) => {
  let found: string | undefined
  try {
    const folder = readdirSync(runtimes).find((name) => name.startsWith(`node-${major}-`))
    const modules = join(runtimes, folder as string, 'node_modules')
    found = join(modules, readdirSync(modules).find((name) => /^node-/.test(name)) as string, 'bin/node')
  } catch {
    // Not downloaded: the test is skipped.
  }
  return [major, found] as const
})

for (const [major, node] of nodes) {
  test.skipIf(node === undefined)(`an import works on Node.js ${major}`, async () => {
    const server = await startServer(() => undefined)
    const text = `${ndjson(300)}{"type":"track","userId":"ada","event":}\n`

    const { code, stderr, stdout } = await run(['import', newFile('a.ndjson', text)], {
      env: server.env,
      node: node as string,
    })

    expect([code, server.taken.length]).toEqual([1, 300])
    expect(stdout).toContain('300 delivered, 1 refused (invalid_json 1)')
    expect(stderr).toMatch(/a\.ndjson:301:40: expected a value, but found "}"\n$/)
  })
}

test('every flag in the README exists', async () => {
  const commands = [
    ['send', 'track'],
    ['send', 'identify'],
    ['send', 'group'],
    ['send', 'alias'],
    ['send', 'page'],
    ['verify'],
    ['import'],
    ['types'],
  ]
  const help = (await Promise.all(commands.map((command) => run([...command, '--help']))))
    .map(({ stdout }) => stdout)
    .join('')
  const shown = new Set(
    readme.replace(/npm install.*|psql.*\| |node scripts.*/g, '').match(/(?<![\w-])--[a-z][\w-]*/g),
  )

  expect(shown.size).toBeGreaterThan(20)
  for (const flag of shown) expect(`${help}--help `, flag).toMatch(new RegExp(`${flag}[ ,<\\n]`))
})

test('the first commands of the README work against a collector', async () => {
  const collector = await startCollector()
  const [, block] = /^```sh\n(export TRACKPOST_HOST[\s\S]*?)^```$/m.exec(readme) as unknown as [
    string,
    string,
  ]
  const bin = join(inject('project'), 'node_modules/.bin')

  const { stdout, stderr } = await promisify(execFile)(
    'sh',
    ['-c', `set -e\n${block.replace('http://127.0.0.1:8787', collector.url)}`],
    { cwd: newFolder(), env: { ...process.env, PATH: `${bin}:${process.env['PATH']}` } },
  )

  expect(stderr).toBe('')
  expect(stdout).toContain(`${collector.url}/v1/batch: accepts the write key (200)\n`)
  expect(stdout).toContain('history.ndjson: 1 line: 1 delivered, 0 refused')
  expect((await collector.events()).map(({ userId }) => userId).sort()).toEqual(['ada', 'bob'])
})

test('the README commands for sending events work', async () => {
  const server = await startServer(() => undefined)
  const company = newFile('company.json', '{"name":"Acme"}')
  const commands = [...readme.matchAll(/^trackpost (send .*)$/gm)].map(([, command]) =>
    (command as string).replace('@company.json', `@${company}`),
  )
  // A shell splits them, as it does for a reader of the README.
  const send = `send() { printf '%s\\0' send "$@"; printf '\\n'; }\n`
  const split = execFileSync('sh', ['-c', send + commands.join('\n')], { encoding: 'utf8' })
  for (const line of split.trimEnd().split('\n')) {
    const { code, stderr } = await run(line.split('\0').slice(0, -1), { env: server.env })
    expect([line, code, stderr]).toEqual([line, 0, ''])
  }

  expect(commands.length).toBeGreaterThan(5)
  expect(server.taken.length).toBe(commands.length)
})
