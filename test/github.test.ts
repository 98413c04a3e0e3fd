import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse, parseDocument } from 'yaml'
import manifest from '../package.json' with { type: 'json' }
import runtimes from '../scripts/runtimes.json' with { type: 'json' }

const repository = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(`${repository}${path}`, 'utf8')
const list = (folder: string): string[] =>
  readdirSync(`${repository}${folder}`).map((name) => `${folder}/${name}`)

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Record<string, unknown>
}
interface Job {
  readonly 'timeout-minutes'?: number
  readonly permissions?: Record<string, string>
  readonly steps: readonly Step[]
  readonly strategy?: { readonly matrix: { readonly node: readonly number[] } }
}
interface Workflow {
  readonly on: Record<string, unknown>
  readonly permissions: Record<string, string>
  readonly jobs: Record<string, Job>
}

const workflows = list('.github/workflows')
const jobsOf = (path: string): Job[] => Object.values((parse(read(path)) as Workflow).jobs)
const stepsOf = (path: string): readonly Step[] => jobsOf(path).flatMap(({ steps }) => steps)

test.each([...workflows, ...list('.github/ISSUE_TEMPLATE'), '.github/dependabot.yml'])(
  '%s is valid YAML',
  (path) => {
    const { errors, warnings } = parseDocument(read(path), { strict: true })

    expect([...errors, ...warnings]).toEqual([])
  },
)

describe.each(workflows)('%s', (path) => {
  test('calls scripts that exist', () => {
    const called = stepsOf(path).flatMap(({ run = '' }) =>
      [...run.matchAll(/\bnpm (?:run (?:--silent )?([\w:-]+)|(test|start)\b)/g)].map(
        ([, script, short]) => script ?? short,
      ),
    )

    expect(called.length).toBeGreaterThan(0)
    for (const script of called) expect(Object.keys(manifest.scripts)).toContain(script)
  })

  test('pins every action to a commit, and names its version', () => {
    const uses = [...read(path).matchAll(/uses: (.*)$/gm)].map(([, action]) => action)

    expect(uses.length).toBe(stepsOf(path).filter(({ uses }) => uses !== undefined).length)
    for (const action of uses) expect(action).toMatch(/^[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  })

  test('may read the repository, and no more by default', () => {
    expect((parse(read(path)) as Workflow).permissions).toEqual({ contents: 'read' })
  })

  test('keeps no credentials in the working copy, and every job has a time limit', () => {
    const checkouts = stepsOf(path).filter(({ uses }) => uses?.startsWith('actions/checkout@'))

    expect(checkouts.length).toBe(jobsOf(path).length)
    for (const checkout of checkouts) expect(checkout.with?.['persist-credentials']).toBe(false)
    for (const job of jobsOf(path)) expect(job['timeout-minutes']).toBeGreaterThan(0)
  })

  test('installs what the lockfile names, without install scripts', () => {
    const installs = stepsOf(path).filter(({ run }) => /\bnpm (?:ci|i|install)\b/.test(run ?? ''))

    expect(installs.map(({ run }) => run)).toEqual(jobsOf(path).map(() => 'npm ci --ignore-scripts'))
  })
})

test('CI runs on every Node.js that the tests fetch and the tools run on', () => {
  const fetched = Object.keys(runtimes).flatMap((name) => /^node-(\d+)$/.exec(name)?.[1] ?? [])
  const [ci] = jobsOf('.github/workflows/ci.yml')

  expect(ci?.strategy?.matrix.node).toEqual(fetched.map(Number).filter((major) => major >= 20))
})

test('a release has provenance and an identity of its own, and no stored token', () => {
  const path = '.github/workflows/release.yml'
  const [publish] = jobsOf(path)

  expect(publish?.steps.at(-1)?.run).toBe('node scripts/publish.mjs')
  expect(publish?.permissions).toEqual({ contents: 'read', 'id-token': 'write' })
  expect(read(path)).not.toMatch(/secrets\.|NODE_AUTH_TOKEN|NPM_TOKEN/)
  const manifests = [
    manifest,
    ...manifest.workspaces.map((folder) => JSON.parse(read(`${folder}/package.json`))),
  ]
  for (const { publishConfig, version } of manifests) {
    expect(publishConfig).toEqual({ access: 'public', provenance: true })
    expect(version).toBe(manifest.version)
  }
})

test('package.json says where the project lives', () => {
  const home = 'https://github.com/trackpost/trackpost'

  expect(manifest.repository).toEqual({ type: 'git', url: `git+${home}.git` })
  expect(manifest.bugs.url).toBe(`${home}/issues`)
  expect(manifest.homepage).toBe(`${home}#readme`)
  expect(manifest.packageManager).toMatch(/^npm@\d+\.\d+\.\d+$/)
  expect(read('.nvmrc').trim()).toMatch(/^\d+$/)
})
