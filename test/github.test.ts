import { existsSync, readdirSync, readFileSync } from 'node:fs'
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

describe('what a workflow runs exists', () => {
  const scripts: Readonly<Record<string, string>> = manifest.scripts
  const workflows = readdirSync(`${repository}.github/workflows`).map((name) => `.github/workflows/${name}`)
  const commands = new Set(
    workflows.flatMap((path) =>
      [...read(path).matchAll(/\b(?:run: .*|(?:npm|node|bash|sh) .*)$/gm)].map(([line]) => line),
    ),
  )

  /** The npm scripts that a command starts, with those that they start. */
  function npmScripts(command: string, found = new Set<string>()): Set<string> {
    for (const [, name] of command.matchAll(
      /\bnpm (?:run )?(?:--silent )?(test\b(?!:)|(?<=run )[\w:-]+|(?<=--silent )[\w:-]+)/g,
    )) {
      if (name === undefined || found.has(name)) continue
      found.add(name)
      npmScripts(scripts[name] ?? '', found)
    }
    return found
  }

  const names = new Set([...commands].flatMap((command) => [...npmScripts(command)]))
  const texts = [...commands, ...[...names].map((name) => scripts[name] ?? '')]
  const files = new Set(
    texts.flatMap((text) =>
      [...text.matchAll(/\b(?:node|bash|sh) ([\w.][\w.-]*\/[\w./-]+)/g)].map(([, file]) => file as string),
    ),
  )

  test('the workflows name scripts of npm and files', () => {
    expect([...names]).toEqual(expect.arrayContaining(['test', 'test:mutation', 'test:loaded', 'pack:all']))
    expect([...files]).toEqual(
      expect.arrayContaining(['.ci/run', 'scripts/mutation.mjs', 'scripts/test.mjs', 'scripts/try-image.sh']),
    )
  })

  test('all of them exist', () => {
    expect([...names].filter((name) => !(name in scripts))).toEqual([])
    expect([...files].filter((file) => !existsSync(`${repository}${file}`))).toEqual([])
  })
})

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
