// Publishes the packages of this repository, the SDK first. The release workflow runs it after the build. A version that the
// registry already has is skipped, so that a failed workflow can be started again. With --dry-run, npm uploads nothing.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const ROOT = new URL('..', import.meta.url)

function readManifest(folder) {
  return JSON.parse(readFileSync(new URL(`${folder}/package.json`, ROOT), 'utf8'))
}

function npm(args, options) {
  return spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8', ...options })
}

const isDryRun = process.argv.includes('--dry-run')
const flags = isDryRun ? ['--dry-run', '--access', 'public'] : ['--provenance', '--access', 'public']
const { workspaces } = readManifest('.')
for (const folder of ['.', ...workspaces]) {
  const { name, version } = readManifest(folder)
  const found = npm(['view', `${name}@${version}`, 'version'], { stdio: ['ignore', 'pipe', 'ignore'] })
  if (found.status === 0 && found.stdout.trim() === version) {
    console.log(`${name}@${version} is already published`)
    continue
  }
  const where = folder === '.' ? [] : ['--workspace', folder]
  const { status } = npm(['publish', ...flags, ...where], { stdio: 'inherit' })
  if (status !== 0) {
    console.error(`publish: ${name}@${version} could not be published`)
    process.exit(1)
  }
}
