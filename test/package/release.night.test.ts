import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { REPOSITORY, run } from './project.ts'

/** The next minor version: this test also runs in the workflow of a release, when the repository has the new version. */
const NEXT = manifest.version.replace(/\.(\d+)\.\d+$/, (_, minor) => `.${Number(minor) + 1}.0`)

describe(`the release ${NEXT} of a copy of the repository`, () => {
  let folder: string
  const read = (path: string): string => readFileSync(join(folder, path), 'utf8')
  const shell = (command: string, env = {}) => run('sh', ['-ec', command], folder, env)

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
})
