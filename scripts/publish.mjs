// Publishes packed packages, as they are: `node scripts/publish.mjs FOLDER [flags of npm]`. A file that the registry already has
// is left out, so that a release that failed half way can be started again.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const [folder, ...flags] = process.argv.slice(2)
const files = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
if (files.length === 0) fail(`${folder} has no packages`)
// The SDK comes first. The paths are whole, because npm takes a path such as packed/file.tgz for a repository on GitHub.
for (const path of files.sort().map((name) => resolve(folder, name))) {
  const manifest = execFileSync('tar', ['-xzOf', path, 'package/package.json'], { encoding: 'utf8' })
  const { name, version } = JSON.parse(manifest)
  const integrity = `sha512-${createHash('sha512').update(readFileSync(path)).digest('base64')}`
  const published = integrityOf(`${name}@${version}`)
  if (published === integrity) {
    console.log(`${name}@${version} is already published`)
  } else if (published !== undefined) {
    const problem = `${name}@${version} is already published, with other contents than ${path}`
    // Between two releases, the packages have the version of the last one.
    if (flags.includes('--dry-run')) console.log(`${problem}: a release needs a new version`)
    else fail(problem)
  } else if (spawnSync('npm', ['publish', path, ...flags], { stdio: 'inherit' }).status !== 0) {
    fail(`${name}@${version} could not be published`)
  }
}

/** Returns `undefined` only if the registry says that it has no such version. */
function integrityOf(spec) {
  const args = ['view', spec, 'dist.integrity', '--json', ...flags]
  const { status, stdout, stderr } = spawnSync('npm', args, { encoding: 'utf8' })
  const answer = stdout === '' ? undefined : JSON.parse(stdout)
  if (status === 0 || answer?.error?.code === 'E404') return status === 0 ? answer : undefined
  console.error(stderr)
  return fail(`the registry does not say whether it has ${spec}`)
}

function fail(message) {
  console.error(`publish: ${message}`)
  process.exit(1)
}
