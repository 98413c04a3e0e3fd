import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import manifest from '../package.json' with { type: 'json' }

const repository = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(`${repository}${path}`, 'utf8')

interface Job {
  readonly permissions?: Record<string, string>
  readonly steps?: readonly { readonly uses?: string; readonly run?: string }[]
}
interface Workflow {
  readonly permissions: Record<string, string>
  readonly jobs: Record<string, Job>
}

const workflowOf = (path: string): Workflow => parse(read(path))
const stepsOf = (path: string) => Object.values(workflowOf(path).jobs).flatMap(({ steps = [] }) => steps)

describe.each(readdirSync(`${repository}.github/workflows`).map((name) => `.github/workflows/${name}`))(
  '%s',
  (path) => {
    test('S42: pins every action to a commit, and gives its version', () => {
      const uses = [...read(path).matchAll(/uses: (?!\.\/)(.*)$/gm)].map(([, action]) => action)

      for (const action of uses) expect(action).toMatch(/^[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
    })

    test('S42: has only the right to read the repository by default', () => {
      expect(workflowOf(path).permissions).toEqual({ contents: 'read' })
    })

    test('S38: installs the packages of the lockfile, without install scripts', () => {
      const installs = stepsOf(path).filter(({ run }) => /\bnpm (?:ci|i|install)\b/.test(run ?? ''))

      for (const { run } of installs) expect(run).toBe('npm ci --ignore-scripts')
    })
  },
)

test('S39: a release has provenance and its own identity, but no stored token', () => {
  const path = '.github/workflows/release.yml'
  const { publish, announce } = workflowOf(path).jobs

  expect(publish?.permissions).toEqual({ contents: 'read', 'id-token': 'write' })
  // The job that may write to the repository may not publish.
  expect(announce?.permissions).toEqual({ contents: 'write' })
  expect(read(path)).not.toMatch(/secrets\.|NODE_AUTH_TOKEN|NPM_TOKEN/)
  for (const folder of manifest.workspaces) {
    const { publishConfig } = JSON.parse(read(`${folder}/package.json`))
    expect(publishConfig, folder).toEqual({ access: 'public', provenance: true })
  }
})

test('no job uses a cache that jobs of other branches have written', () => {
  const steps = ['ci', 'packages', 'release'].flatMap((name) => stepsOf(`.github/workflows/${name}.yml`))
  const setups = steps.filter(({ uses }) => uses?.startsWith('actions/setup-node@'))

  expect(setups.length).toBeGreaterThan(3)
  for (const step of setups) expect(step).toMatchObject({ with: { 'package-manager-cache': false } })
})

test('a release that failed half way can be run again', () => {
  const [command = ''] = (workflowOf('.github/workflows/release.yml').jobs['announce']?.steps ?? []).flatMap(
    ({ run }) => run ?? [],
  )
  /** Runs the step with a `gh` that fails for the given arguments, and returns what it was asked for. */
  const announce = (failing: string): string[] => {
    const gh = `gh() { echo "$1 $2" >&3; case "$1 $2" in ${failing}) return 1;; esac; }`
    const { status, output } = spawnSync('bash', ['-ec', `${gh}\n${command}`], {
      env: { PATH: process.env['PATH'], GITHUB_REF_NAME: 'v0.1.1' },
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
    })
    return [...(output[3] ?? '').trim().split('\n'), `${status}`]
  }

  expect(announce('none')).toEqual(['release create', '0'])
  // The release is there already, perhaps as a draft without all files.
  expect(announce('"release create"')).toEqual(['release create', 'release upload', 'release edit', '0'])
  expect(announce('"release create"|"release upload"').at(-1)).toBe('1')
  const upload = stepsOf('.github/workflows/packages.yml').find(({ uses }) =>
    /upload-artifact/.test(uses ?? ''),
  )
  expect(upload).toMatchObject({ with: { overwrite: true } })
})

test('S44: code, dependencies, licences and secrets are checked on every change', () => {
  const steps = stepsOf('.github/workflows/security.yml').map(({ uses, run }) => uses?.split('@')[0] ?? run)

  expect(steps).toEqual(
    expect.arrayContaining([
      'github/codeql-action/analyze',
      'actions/dependency-review-action',
      expect.stringMatching(/^go run \S+\/gitleaks\//),
    ]),
  )
})

test.each([
  ['npm', 'package-lock.json'],
  ['docker', 'Dockerfile'],
  ['docker-compose', 'compose*.yaml'],
])('Dependabot looks at each folder for %s', (ecosystem, name) => {
  const { updates } = parse(read('.github/dependabot.yml'))
  const watched = updates.flatMap((update: Record<string, unknown>) =>
    update['package-ecosystem'] === ecosystem ? (update['directories'] ?? update['directory']) : [],
  )
  const files = execFileSync('git', ['ls-files', name, `*/${name}`], { cwd: repository, encoding: 'utf8' })
  const folders = files
    .trim()
    .split('\n')
    .map((path) => `/${dirname(path)}`.replace(/\/\.$/, '/'))

  expect(new Set(watched)).toEqual(new Set(folders))
})
