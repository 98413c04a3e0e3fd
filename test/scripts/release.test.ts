import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { releaseChangelog, requireNewer } from '../../scripts/release.mjs'

const REPOSITORY = 'https://github.com/trackpost/trackpost'

const CHANGELOG = `# Changelog

## [Unreleased]

### Fixed

- An event with a kanji in its name arrives.

[Unreleased]: ${REPOSITORY}/commits/main
`

describe('the version', () => {
  test.each([
    ['0.1.0', '0.1.1'],
    ['0.1.9', '0.2.0'],
    ['0.9.9', '0.10.0'],
    ['0.2.0', '1.0.0'],
  ])('%s may become %s', (current, next) => {
    expect(() => requireNewer(current, next)).not.toThrow()
  })

  test.each([
    ['0.1.0', '0.1.0', '0.1.0 is not newer than 0.1.0'],
    ['0.2.0', '0.1.9', '0.1.9 is not newer than 0.2.0'],
    ['1.0.0', '0.9.0', '0.9.0 is not newer than 1.0.0'],
    ['0.1.0', 'v0.2.0', 'expected a version such as 0.2.0, got v0.2.0'],
    ['0.1.0', undefined, 'expected a version such as 0.2.0, got none'],
  ])('%s may not become %s', (current, next, message) => {
    expect(() => requireNewer(current, next)).toThrow(message)
  })
})

describe('the changelog', () => {
  test('unreleased changes get the version and its date, with links', () => {
    const first = releaseChangelog(CHANGELOG, '0.2.0', '2026-11-21')

    expect(first).toBe(`# Changelog

## [Unreleased]

## [0.2.0] - 2026-11-21

### Fixed

- An event with a kanji in its name arrives.

[Unreleased]: ${REPOSITORY}/compare/v0.2.0...HEAD
[0.2.0]: ${REPOSITORY}/releases/tag/v0.2.0
`)
  })

  test('the link of the next version compares it with the previous one', () => {
    const first = releaseChangelog(CHANGELOG, '0.2.0', '2026-11-21')
    const changed = first.replace('## [Unreleased]\n', '## [Unreleased]\n\n- One more.\n')

    const second = releaseChangelog(changed, '0.3.0', '2026-12-01')

    expect(second).toContain(`[0.3.0]: ${REPOSITORY}/compare/v0.2.0...v0.3.0\n[0.2.0]: `)
    expect(second).toContain('## [0.3.0] - 2026-12-01\n\n- One more.\n\n## [0.2.0] - 2026-11-21')
  })

  test.each([
    ['no section', CHANGELOG.replace('## [Unreleased]', '## [Next]'), 'no section [Unreleased]'],
    ['no changes', CHANGELOG.replace(/^- .*$/m, ''), 'lists no changes'],
    ['no link', CHANGELOG.replace(/^\[Unreleased\].*$/m, ''), 'no link for [Unreleased]'],
    [
      'changes of an earlier version only',
      releaseChangelog(CHANGELOG, '0.2.0', '2026-11-21'),
      'lists no changes',
    ],
  ])('%s: there is no release', (_label, text, message) => {
    expect(() => releaseChangelog(text, '0.4.0', '2026-12-01')).toThrow(message)
  })

  test('the changelog of this repository can be released', () => {
    const text = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')
    const changed = text.replace('## [Unreleased]\n', '## [Unreleased]\n\n- One more.\n')

    expect(releaseChangelog(changed, '99.0.0', '2026-11-21')).toContain('## [99.0.0] - 2026-11-21')
  })
})

describe('in a repository', () => {
  const project = fileURLToPath(new URL('../..', import.meta.url))
  const script = join(project, 'scripts/release.mjs')
  let folder: string
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.com', ...args], {
      cwd: folder,
      encoding: 'utf8',
    })
  const release = (...args: string[]) =>
    spawnSync(process.execPath, [script, ...args], {
      cwd: folder,
      encoding: 'utf8',
      env: {
        ...process.env,
        GIT_AUTHOR_NAME: 'T',
        GIT_AUTHOR_EMAIL: 't@example.com',
        GIT_COMMITTER_NAME: 'T',
        GIT_COMMITTER_EMAIL: 't@example.com',
      },
    })

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'trackpost-release-'))
    mkdirSync(join(folder, 'src'))
    for (const path of [
      ...['package.json', 'package-lock.json', 'src/version.ts'],
      ...['collector/package.json', 'cli/package.json'],
    ]) {
      cpSync(join(project, path), join(folder, path))
    }
    writeFileSync(join(folder, 'CHANGELOG.md'), CHANGELOG)
    git('init', '--quiet', '--initial-branch=main')
    git('add', '.')
    git('commit', '--quiet', '--message', 'Everything')
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  test('a dry run prints the steps and changes nothing', () => {
    const before = git('rev-parse', 'HEAD')

    const { status, stdout, stderr } = release('99.0.0', '--dry-run')

    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toContain(
      'would release 99.0.0: package.json, collector/package.json, cli/package.json, package-lock.json, src/version.ts, CHANGELOG.md',
    )
    expect(git('status', '--porcelain')).toBe('')
    expect(git('rev-parse', 'HEAD')).toBe(before)
    expect(git('tag')).toBe('')
  })

  test('a release sets the version everywhere, commits and tags', () => {
    const { status, stderr } = release('99.0.0')

    expect([status, stderr]).toEqual([0, ''])
    expect(git('tag')).toBe('v99.0.0\n')
    expect(git('log', '-1', '--format=%s')).toBe('release: 99.0.0\n')
    expect(git('status', '--porcelain')).toBe('')
    const read = (path: string): string => readFileSync(join(folder, path), 'utf8')
    const lock = JSON.parse(read('package-lock.json'))
    expect([JSON.parse(read('package.json')).version, lock.version, lock.packages[''].version]).toEqual([
      '99.0.0',
      '99.0.0',
      '99.0.0',
    ])
    for (const folder of ['collector', 'cli']) {
      const { version } = JSON.parse(read(`${folder}/package.json`))
      expect([version, lock.packages[folder].version]).toEqual(['99.0.0', '99.0.0'])
    }
    expect(read('src/version.ts')).toContain("VERSION = '99.0.0'")
  })

  test('the first release may have the current version of the packages, a later release may not', () => {
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

    const { status, stderr } = release(version)

    expect([status, stderr]).toEqual([0, ''])
    expect(git('tag')).toBe(`v${version}\n`)
    expect(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')).toContain(`\n## [${version}] - `)
    expect(release(version).stderr).toContain(`the tag v${version} exists already`)
  })

  test('a version that already has a date in the changelog gets only the tag', () => {
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    writeFileSync(join(folder, 'CHANGELOG.md'), releaseChangelog(CHANGELOG, version, '2026-11-22'))
    git('commit', '--quiet', '--all', '--message', 'Dated')
    const before = git('rev-parse', 'HEAD')

    const { status, stderr } = release(version)

    expect([status, stderr]).toEqual([0, ''])
    expect(git('tag')).toBe(`v${version}\n`)
    expect(git('rev-parse', 'HEAD')).toBe(before)
  })

  test.each([
    ['an older version', ['0.0.1'], 'is not newer'],
    ['no version', [], 'expected a version'],
  ])('%s is refused', (_label, args, message) => {
    const { status, stderr } = release(...args)

    expect(status).toBe(1)
    expect(stderr).toContain(message)
  })

  test('a working copy with changes is refused', () => {
    writeFileSync(join(folder, 'notes.txt'), 'unfinished')

    expect(release('99.0.0').stderr).toContain('the working copy has changes')
  })

  test('a release from another branch and an existing tag are refused', () => {
    git('checkout', '--quiet', '-b', 'feature')
    expect(release('99.0.0').stderr).toContain('releases are made on main')

    git('checkout', '--quiet', 'main')
    git('tag', 'v99.0.0')
    expect(release('99.0.0').stderr).toContain('the tag v99.0.0 exists already')
  })
})
