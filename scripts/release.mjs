// Prepares a release: `npm run release -- 0.2.0`, or `npm run release -- 0.2.0 --dry-run` to see the steps. Sets the version of
// all packages, puts version and date above the unreleased changes in CHANGELOG.md, commits and tags. When the tag is pushed,
// .github/workflows/release.yml publishes the packages.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const REPOSITORY = 'https://github.com/trackpost/trackpost'

/** Pre-releases are not supported. */
function parseVersion(text) {
  const match = /^(\d+)\.(\d+)\.(\d+)$/.exec(text ?? '')
  if (match === null) throw new Error(`expected a version such as 0.2.0, got ${text ?? 'none'}`)
  return match.slice(1).map(Number)
}

export function requireNewer(current, next) {
  const from = parseVersion(current)
  const to = parseVersion(next)
  const first = to.findIndex((number, index) => number !== from[index])
  if (first === -1 || to[first] < from[first]) throw new Error(`${next} is not newer than ${current}`)
}

/** Moves the changes under `Unreleased` below a heading for the new version. Both headings get a link. */
export function releaseChangelog(text, version, date) {
  const heading = '## [Unreleased]\n'
  const start = text.indexOf(heading)
  if (start === -1) throw new Error('CHANGELOG.md has no section [Unreleased]')
  const rest = text.slice(start + heading.length)
  const links = rest.search(/^\[Unreleased\]: /m)
  if (links === -1) throw new Error('CHANGELOG.md has no link for [Unreleased]')
  const next = rest.search(/^## \[/m)
  const changes = rest.slice(0, next === -1 ? links : Math.min(next, links)).trim()
  if (!/^- /m.test(changes)) throw new Error('CHANGELOG.md lists no changes under [Unreleased]')
  const previous = /^\[(\d+\.\d+\.\d+)\]: /m.exec(rest)?.[1]
  const link =
    previous === undefined
      ? `${REPOSITORY}/releases/tag/v${version}`
      : `${REPOSITORY}/compare/v${previous}...v${version}`
  return (
    `${text.slice(0, start)}${heading}\n## [${version}] - ${date}\n${rest.slice(0, links)}` +
    rest
      .slice(links)
      .replace(
        /^\[Unreleased\]: .*$/m,
        `[Unreleased]: ${REPOSITORY}/compare/v${version}...HEAD\n[${version}]: ${link}`,
      )
  )
}

/** Whether only the tag is missing. */
function isPrepared(read, version) {
  return (
    JSON.parse(read('package.json')).version === version &&
    read('CHANGELOG.md').includes(`\n## [${version}] - `)
  )
}

/** Returns the new text of each file that a release changes, by path. */
export function releaseFiles(read, version, date) {
  const manifest = JSON.parse(read('package.json'))
  // The first release may keep the version that the packages already have.
  const isFirst = !/^## \[\d/m.test(read('CHANGELOG.md'))
  if (!isFirst || version !== manifest.version) requireNewer(manifest.version, version)
  const lock = JSON.parse(read('package-lock.json'))
  lock.version = version
  lock.packages[''].version = version
  const workspaces = {}
  for (const folder of manifest.workspaces) {
    const path = `${folder}/package.json`
    // All packages have the same version, so that users see which packages belong together.
    workspaces[path] = `${JSON.stringify({ ...JSON.parse(read(path)), version }, null, 2)}\n`
    lock.packages[folder].version = version
  }
  const source = read('src/version.ts')
  if (!source.includes(`'${manifest.version}'`))
    throw new Error(`src/version.ts does not contain ${manifest.version}`)
  const versioned = source.replace(`'${manifest.version}'`, `'${version}'`)
  return {
    'package.json': `${JSON.stringify({ ...manifest, version }, null, 2)}\n`,
    ...workspaces,
    'package-lock.json': `${JSON.stringify(lock, null, 2)}\n`,
    'src/version.ts': versioned,
    'CHANGELOG.md': releaseChangelog(read('CHANGELOG.md'), version, date),
  }
}

function main(args) {
  const isDryRun = args.includes('--dry-run')
  const [version] = args.filter((arg) => !arg.startsWith('--'))
  const git = (...command) => execFileSync('git', command, { encoding: 'utf8' }).trim()
  const folder = git('rev-parse', '--show-toplevel')
  const date = new Date().toISOString().slice(0, 10)
  const read = (path) => readFileSync(join(folder, path), 'utf8')
  const files = isPrepared(read, version) ? {} : releaseFiles(read, version, date)
  if (git('status', '--porcelain') !== '') throw new Error('the working copy has changes; commit them first')
  if (git('rev-parse', '--abbrev-ref', 'HEAD') !== 'main') throw new Error('releases are made on main')
  if (git('tag', '--list', `v${version}`) !== '') throw new Error(`the tag v${version} exists already`)
  if (isDryRun) {
    const steps = Object.keys(files).length === 0 ? [] : [Object.keys(files).join(', '), 'commit']
    console.log(`would release ${version}: ${[...steps, `tag v${version}`].join(', ')}`)
    return
  }
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text)
  if (Object.keys(files).length > 0)
    git('commit', '--quiet', '--message', `release: ${version}`, '--', ...Object.keys(files))
  git('tag', '--annotate', `v${version}`, '--message', version)
  console.log(`released ${version}; publish it with: git push --follow-tags`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    main(process.argv.slice(2))
  } catch (error) {
    console.error(`release: ${error.message}`)
    process.exitCode = 1
  }
}
