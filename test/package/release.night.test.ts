import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import manifest from '../../package.json' with { type: 'json' }
import { TIER } from '../../scripts/tiers.mjs'
import { listen, readBody } from '../support/loopback.ts'
import { REPOSITORY, run } from './project.ts'

const sha512 = (bytes: Buffer): string => `sha512-${createHash('sha512').update(bytes).digest('base64')}`

interface Registry {
  /** The flags of npm for this registry. */
  readonly flags: readonly string[]
  /** The published files, by name and version. */
  readonly published: Map<string, Buffer>
}

/** A registry on this machine. With `status`, it answers each question with that status. */
async function openRegistry(status?: number): Promise<Registry> {
  const published = new Map<string, Buffer>()
  const { url } = await listen(async (request, response) => {
    const body = await readBody(request)
    const name = decodeURIComponent((request.url ?? '').slice(1).split('?')[0] ?? '')
    const answer = (code: number, value: unknown): void => {
      response.writeHead(code, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
    }
    if (status !== undefined) return answer(status, { error: 'no' })
    if (request.method === 'PUT') {
      const { versions, _attachments } = JSON.parse(body)
      const [version] = Object.keys(versions)
      const [attachment] = Object.values<{ data: string }>(_attachments)
      published.set(`${name}@${version}`, Buffer.from(attachment?.data ?? '', 'base64'))
      return answer(201, { ok: true })
    }
    const versions = [...published].filter(([spec]) => spec.startsWith(`${name}@`))
    if (versions.length === 0) return answer(404, { error: 'Not found' })
    const entries = versions.map(([spec, bytes]) => {
      const version = spec.slice(name.length + 1)
      return [
        version,
        { name, version, dist: { integrity: sha512(bytes), tarball: 'http://127.0.0.1/none' } },
      ]
    })
    return answer(200, {
      name,
      'dist-tags': { latest: entries.at(-1)?.[0] },
      versions: Object.fromEntries(entries),
    })
  })
  const flags = [
    `--registry=${url}`,
    `--${url.slice('http:'.length)}/:_authToken=none`,
    '--no-provenance',
    '--fetch-retries=0',
    `--cache=${mkdtempSync(join(tmpdir(), 'trackpost-npm-'))}`,
  ]
  return { flags, published }
}

/** Publishes as the workflows do: with a relative path of the folder. */
function publish(folder: string, { flags }: Registry, ...more: string[]) {
  const script = join(REPOSITORY, 'scripts/publish.mjs')
  return run(process.execPath, [script, basename(folder), ...flags, ...more], dirname(folder))
}

describe('publishing', () => {
  let folder: string

  /** Packs a package of one file. */
  function pack(name: string, version: string, text: string, into = folder): void {
    const source = mkdtempSync(join(tmpdir(), 'trackpost-source-'))
    writeFileSync(join(source, 'package.json'), JSON.stringify({ name, version }))
    writeFileSync(join(source, 'index.js'), text)
    execFileSync('npm', ['pack', '--silent', '--pack-destination', into], { cwd: source })
    rmSync(source, { recursive: true })
  }

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'trackpost-packed-'))
    pack('some-cli', '1.0.0', 'cli')
    pack('some', '1.0.0', 'sdk')
    return () => rmSync(folder, { recursive: true })
  })

  test('the packed files are published as they are, and only once', async () => {
    const registry = await openRegistry()

    const first = await publish(folder, registry)
    const again = await publish(folder, registry)

    expect(first.code, first.output).toBe(0)
    expect([...registry.published]).toEqual(
      ['some', 'some-cli'].map((name) => [`${name}@1.0.0`, readFileSync(join(folder, `${name}-1.0.0.tgz`))]),
    )
    expect(again).toMatchObject({
      code: 0,
      output: 'some@1.0.0 is already published\nsome-cli@1.0.0 is already published\n',
    })
  })

  test('a version that was published with other contents is an error', async () => {
    const registry = await openRegistry()
    registry.published.set('some@1.0.0', Buffer.from('other'))

    const { code, output } = await publish(folder, registry)

    expect(code).toBe(1)
    expect(output).toContain('some@1.0.0 is already published, with other contents')
    expect(registry.published.size).toBe(1)
  })

  test('a registry that fails does not count as one without the version', async () => {
    const { code, output } = await publish(folder, await openRegistry(500))

    expect(code).toBe(1)
    expect(output).toContain('the registry does not say whether it has some@1.0.0')
  })
})

interface Workflow {
  readonly jobs: Record<
    string,
    { readonly steps: readonly { readonly name?: string; readonly run?: string }[] }
  >
}

/** The next minor version: this test also runs in the workflow of a release, when the repository has the new version. */
const NEXT = manifest.version.replace(/\.(\d+)\.\d+$/, (_, minor) => `.${Number(minor) + 1}.0`)

describe(`the release ${NEXT} of a copy of the repository`, () => {
  let folder: string
  const read = (path: string): string => readFileSync(join(folder, path), 'utf8')
  const shell = (command: string, env = {}) => run('sh', ['-ec', command], folder, env)

  /** Runs a step of a workflow. */
  async function step(workflow: string, job: string, name: string, env = {}): Promise<void> {
    const { jobs } = parse(read(`.github/workflows/${workflow}`)) as Workflow
    const command = jobs[job]?.steps.find((one) => one.name === name)?.run
    const { code, output } = await shell(command ?? 'false', env)
    expect(code, `${workflow}, ${name}: ${output}`).toBe(0)
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(REPOSITORY, '.cache', 'release-'))
    const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
      cwd: REPOSITORY,
      encoding: 'utf8',
    })
    // Without the changes that wait for the next release of the repository itself.
    for (const path of files
      .trim()
      .split('\n')
      .filter((name) => !/^\.changeset\/.*\.md$/.test(name))) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      cpSync(join(REPOSITORY, path), join(folder, path))
    }
    for (const one of JSON.parse(read('package.json')).workspaces) {
      const modules = join(REPOSITORY, one, 'node_modules')
      if (existsSync(modules)) symlinkSync(modules, join(folder, one, 'node_modules'))
    }
    writeFileSync(
      join(folder, '.changeset', 'some-change.md'),
      "---\n'trackpost': minor\n---\n\nA new thing for users.\n",
    )
    const git = 'git -c user.name=tester -c user.email=tester@localhost'
    const { code, output } = await shell(
      `git init --quiet --initial-branch main && git add . && ${git} commit --quiet --message before && npm run version-packages`,
    )
    expect(code, output).toBe(0)
    return () => rmSync(folder, { recursive: true, force: true })
  })

  test('each package, the lockfile, the SDK and the deployment files have the version', () => {
    const { workspaces } = JSON.parse(read('package.json')) as { workspaces: string[] }
    const lock = JSON.parse(read('package-lock.json'))
    for (const one of workspaces) {
      expect(JSON.parse(read(`${one}/package.json`)).version, one).toBe(NEXT)
      expect(lock.packages[one === '.' ? '' : one].version, one).toBe(NEXT)
    }
    expect(read('src/version.ts')).toContain(`VERSION = '${NEXT}'`)
    const deployed = execFileSync('git', ['ls-files', '*/deploy/*'], { cwd: folder, encoding: 'utf8' })
    const versions = deployed
      .trim()
      .split('\n')
      .flatMap((path) => [...read(path).matchAll(/trackpost-\w+[@:](\d+\.\d+\.\d+)/g)])
    expect(versions.length).toBeGreaterThan(4)
    expect(new Set(versions.map(([, version]) => version))).toEqual(new Set([NEXT]))
  })

  // Builds everything a second time.
  test.runIf(TIER === 'full')(
    'the steps of the workflows build, pack, test and publish the same files',
    async () => {
      await step('release.yml', 'tag', 'Compare', { GITHUB_REF_NAME: `v${NEXT}` })
      await step('packages.yml', 'pack', 'Build')
      await step('packages.yml', 'pack', 'Pack, with a bill of materials for each package')
      await step('packages.yml', 'use', 'Install the packages, and send an event with each of them')
      await step('release.yml', 'test', 'Unpack')
      await step('release.yml', 'test', 'Packed again, the tested files are those that will be published')
      const registry = await openRegistry()

      const { code, output } = await publish(join(folder, 'packed'), registry)

      expect(code, output).toBe(0)
      const packed = readdirSync(join(folder, 'packed')).filter((name) => name.endsWith('.tgz'))
      expect([...registry.published.keys()].map((spec) => spec.replace('@', '-').concat('.tgz'))).toEqual(
        packed,
      )
      for (const [spec, bytes] of registry.published)
        expect(sha512(readFileSync(join(folder, 'packed', `${spec.replace('@', '-')}.tgz`)))).toBe(
          sha512(bytes),
        )
    },
    900_000,
  )
})
