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
  readonly strategy?: {
    readonly matrix: {
      readonly node?: readonly number[]
      readonly os?: readonly string[]
      readonly include?: readonly { readonly name: string; readonly run: string }[]
    }
  }
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
    const ofMatrix = jobsOf(path).flatMap(({ strategy }) => strategy?.matrix.include ?? [])
    const called = [...stepsOf(path), ...ofMatrix].flatMap(({ run = '' }) =>
      [...run.matchAll(/\bnpm (?:run (?:--silent )?([\w:-]+)|(test|start)\b)/g)].map(
        ([, script, short]) => script ?? short,
      ),
    )

    expect(called.length > 0).toBe(stepsOf(path).some(({ run }) => run !== undefined))
    for (const script of called) expect(Object.keys(manifest.scripts)).toContain(script)
  })

  test('pins every action to a commit, and gives its version', () => {
    const uses = [...read(path).matchAll(/uses: (.*)$/gm)].map(([, action]) => action)

    expect(uses.length).toBe(stepsOf(path).filter(({ uses }) => uses !== undefined).length)
    for (const action of uses) expect(action).toMatch(/^[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  })

  test('has only the right to read the repository by default', () => {
    expect((parse(read(path)) as Workflow).permissions).toEqual({ contents: 'read' })
  })

  test('keeps no credentials in the working copy, and has a time limit for every job', () => {
    const checkouts = stepsOf(path).filter(({ uses }) => uses?.startsWith('actions/checkout@'))

    expect(checkouts.length).toBe(jobsOf(path).length)
    for (const checkout of checkouts) expect(checkout.with?.['persist-credentials']).toBe(false)
    for (const job of jobsOf(path)) expect(job['timeout-minutes']).toBeGreaterThan(0)
  })

  test('installs the packages of the lockfile, without install scripts', () => {
    const installs = stepsOf(path).filter(({ run }) => /\bnpm (?:ci|i|install)\b/.test(run ?? ''))

    const running = jobsOf(path).filter(({ steps }) => steps.some(({ run }) => run !== undefined))

    expect(installs.map(({ run }) => run)).toEqual(running.map(() => 'npm ci --ignore-scripts'))
  })
})

test('CI runs on every Node.js version that the tests download and the tools support', () => {
  const fetched = Object.keys(runtimes).flatMap((name) => /^node-(\d+)$/.exec(name)?.[1] ?? [])
  const [ci] = jobsOf('.github/workflows/ci.yml')

  expect(ci?.strategy?.matrix.node).toEqual(fetched.map(Number).filter((major) => major >= 20))
})

test('CI runs npm test on Linux, macOS and Windows', () => {
  const { test: linux, platforms } = (parse(read('.github/workflows/ci.yml')) as Workflow).jobs

  expect(platforms?.strategy?.matrix.os).toEqual([
    expect.stringMatching(/^macos-/),
    expect.stringMatching(/^windows-/),
  ])
  for (const job of [linux, platforms]) expect(job?.steps.map(({ run }) => run)).toContain('npm test')
})

test('the nightly workflow runs the tests that take too long for each change, and their scripts exist', () => {
  const [job] = jobsOf('.github/workflows/nightly.yml')
  const runs = (job?.strategy?.matrix.include ?? []).map(({ run }) => run)

  for (const part of ['npm test -- --full', 'npm run soak', 'test:mutation', 'PROPERTY_RUNS=25000']) {
    expect(runs.some((run) => run.includes(part))).toBe(true)
  }
  for (const [, script] of runs.join('\n').matchAll(/npm run ([\w:-]+)/g)) {
    expect(Object.keys(manifest.scripts)).toContain(script)
  }
})

test('S43: a release lists what users install, and SECURITY.md says which versions are supported and how to report', () => {
  expect(stepsOf('.github/workflows/release.yml').map(({ run }) => run)).toContain('node scripts/sbom.mjs')
  expect(read('SECURITY.md')).toMatch(
    /## Supported versions[\s\S]*## How to report a problem[\s\S]*in private/,
  )
})

test('S44: code, dependencies, licences and secrets are checked on every change', () => {
  const path = '.github/workflows/security.yml'
  const uses = stepsOf(path).map(({ uses = '' }) => uses.split('@')[0])

  expect((parse(read(path)) as Workflow).on).toMatchObject({ push: {}, pull_request: null })
  expect(uses).toEqual(
    expect.arrayContaining([
      'github/codeql-action/analyze',
      'actions/dependency-review-action',
      'gitleaks/gitleaks-action',
    ]),
  )
  expect(read(path)).toMatch(/deny-licenses: AGPL-3\.0/)
})

test('a release has provenance and its own identity, but no stored token', () => {
  const path = '.github/workflows/release.yml'
  const [publish, announce] = jobsOf(path)

  expect(publish?.steps.at(-1)?.run).toBe('node scripts/publish.mjs')
  expect(publish?.permissions).toEqual({ contents: 'read', 'id-token': 'write' })
  // The job that may write to the repository may not publish.
  expect(announce?.permissions).toEqual({ contents: 'write' })
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

test('package.json has the address of the repository', () => {
  const home = 'https://github.com/trackpost/trackpost'

  expect(manifest.repository).toEqual({ type: 'git', url: `git+${home}.git` })
  expect(manifest.bugs.url).toBe(`${home}/issues`)
  expect(manifest.homepage).toBe(`${home}#readme`)
  expect(manifest.packageManager).toMatch(/^npm@\d+\.\d+\.\d+$/)
  expect(read('.nvmrc').trim()).toMatch(/^\d+$/)
})
