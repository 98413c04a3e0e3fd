import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { transformSync } from 'esbuild'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { TIER } from '../../scripts/tiers.mjs'
import { runNode, WRITE_KEY } from '../examples/run-node.ts'
import { type Example, examplesOf } from '../support/guide.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { compileSnippets } from './compile-snippets.ts'
import { createProject, type Project, REPOSITORY, run, runTool } from './project.ts'

/** Documents whose code is not run here: they have no programs, or other tests run them. */
const OTHERS = ['spec', 'tracking-plans'].map((name) => `docs/${name}.md`)

const documents = readdirSync(join(REPOSITORY, 'docs'), { recursive: true })
  .map((path) => `docs/${String(path).replaceAll('\\', '/')}`)
  .filter((path) => path.endsWith('.md') && !path.startsWith('docs/.vitepress/') && !OTHERS.includes(path))

/** The default form runs those that everybody reads first, and the rest runs the others. */
const FIRST = ['README.md', 'docs/five-minutes.md']
const OTHER_GUIDES = documents.sort().filter((path) => !FIRST.includes(path))
const GUIDES = { default: FIRST, rest: OTHER_GUIDES, full: [...FIRST, ...OTHER_GUIDES] }[TIER]

const all = [...FIRST, ...OTHER_GUIDES].map((path) => ({
  path,
  examples: examplesOf(path, readFileSync(join(REPOSITORY, path), 'utf8')),
}))
const guides = all.filter(({ path }) => GUIDES.includes(path))
const examples = all.flatMap((guide) => guide.examples)

let project: Project
let receiver: Receiver

beforeAll(async () => {
  project = await createProject()
  const imported = examples.flatMap(({ code }) =>
    [...code.matchAll(/\bfrom '((?:@[\w-]+\/)?[\w-]+)[^']*'/g)].map(([, name = '']) => name),
  )
  // Jest's types need the package `expect`.
  for (const name of new Set([...imported, 'expect', '@types/node'])) {
    if (['trackpost', 'node', 'cloudflare', '@vercel/functions'].includes(name)) continue
    const target = join(project.folder, 'node_modules', name)
    await mkdir(dirname(target), { recursive: true })
    await symlink(join(REPOSITORY, 'node_modules', name), target)
  }
  // Writes fakes of the modules of Vercel and Cloudflare. The tests of serverless platforms use the real modules.
  const vercel = join(project.folder, 'node_modules/@vercel/functions')
  await mkdir(vercel, { recursive: true })
  await writeFile(
    join(vercel, 'package.json'),
    '{ "name": "@vercel/functions", "type": "module", "main": "index.js" }',
  )
  await writeFile(join(vercel, 'index.js'), 'export const waitUntil = (promise) => void promise')
  await writeFile(join(vercel, 'index.d.ts'), 'export const waitUntil: (promise: Promise<unknown>) => void')
  await project.write(
    'workers.mjs',
    'export const env = process.env\nexport const waitUntil = (promise) => void promise',
  )
  receiver = await startReceiver({ writeKey: WRITE_KEY })
})
afterAll(async () => {
  await receiver?.close()
  await project?.remove()
})
beforeEach(() => {
  receiver.events.length = 0
})

/** Runs an example with the test runner that it imports, or else as a program. */
async function runExample(
  { language, code }: Example,
  name: string,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const runnable = code.replace("'cloudflare:workers'", "'./workers.mjs'")
  const program = transformSync(runnable, { loader: language, format: 'esm', tsconfigRaw: '{}' }).code
  if (code.includes("from 'vitest'")) {
    const path = await project.write(`${name}.test.mjs`, program)
    return textOf(await runTool('vitest', ['run', '--root', project.folder, path], project.folder))
  }
  if (code.includes("from '@jest/globals'")) {
    const path = await project.write(`${name}.test.cjs`, transformSync(program, { format: 'cjs' }).code)
    return textOf(
      await runTool('jest', ['--rootDir', project.folder, '--runTestsByPath', path], project.folder),
    )
  }
  const path = await project.write(`${name}.mjs`, program)
  if (code.includes("from 'node:test'")) return textOf(await run(process.execPath, ['--test', path]))
  const exit = await runNode(
    [path],
    { TRACKPOST_WRITE_KEY: WRITE_KEY, TRACKPOST_HOST: receiver.url },
    project.folder,
  )
  return { ...exit, code: exit.code ?? 1 }
}

/** The output of a test runner is kept only if a test failed. */
function textOf({ code, output }: { code: number; output: string }): {
  code: number
  stdout: string
  stderr: string
} {
  return { code, stdout: code === 0 ? '' : output, stderr: '' }
}

describe.each(guides)('$path', ({ path, examples }) => {
  test('has only blocks of code that examplesOf finds', () => {
    const blocks = readFileSync(join(REPOSITORY, path), 'utf8').match(
      /^```(?:js|ts|mjs|javascript|typescript)\b/gm,
    )

    expect(blocks ?? []).toHaveLength(examples.length)
  })

  test.each(examples.map((example, index) => ({ ...example, index })))('$name runs', async (example) => {
    const name = `${path.replace(/\W/g, '-')}-${example.index}`

    const { code, stdout, stderr } = await runExample(example, name)

    // Removes the warnings of a guide that shows an outage. Node.js adds a second line to its first warning.
    const told = stderr.replace(
      /^\(node:\d+\) \[TRACKPOST_OUTAGE\].*\n(?:\(Use `node --trace-warnings.*\n)?/gm,
      '',
    )
    expect({ code, stderr: told }, stdout).toEqual({ code: 0, stderr: '' })
    if (example.output !== undefined) expect(stdout).toBe(example.output)
  })
})

test.each(TIER === 'rest' ? [] : FIRST)(
  'the first program of %s exits with 1 when its events fail',
  async (name) => {
    const [first] = guides.find(({ path }) => path === name)?.examples ?? []
    const path = await project.write('first.mjs', first?.code ?? '')

    const exit = await runNode(
      [path],
      { TRACKPOST_WRITE_KEY: 'not-the-key', TRACKPOST_HOST: receiver.url },
      project.folder,
    )

    expect(exit.code).toBe(1)
    expect(exit.stdout).toContain('{ delivered: 0, failed: 2, pending: 0 }')
    expect(exit.stderr).toContain('not delivered: auth')
  },
)

if (TIER !== 'default') {
  test('every example in TypeScript compiles with strict settings', async () => {
    const typed = examples.filter(({ language }) => language === 'ts')
    // The `export {}` makes each example a module, even if it imports nothing.
    const snippets = Object.fromEntries(typed.map(({ name, code }) => [name, `${code}\nexport {}\n`]))

    const complaints = await compileSnippets(project, 'guide', '', snippets, ['node'])

    expect(typed.length).toBeGreaterThan(40)
    expect(Object.values(complaints).join('')).toBe('')
  })

  test('every example with Trackpost is in TypeScript, except that for Workers, which needs types of Cloudflare', () => {
    const untyped = examples.filter(({ language, code }) => language === 'js' && /'trackpost/.test(code))

    expect(untyped.map(({ code }) => /'cloudflare:\w+'/.exec(code)?.[0])).toEqual(["'cloudflare:workers'"])
  })
}
