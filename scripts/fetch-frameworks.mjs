// Installs the web frameworks for the tests of examples/frameworks into .cache/frameworks, unless they are there already. The
// versions are in test/frameworks/package-lock.json. Usage: node scripts/fetch-frameworks.mjs
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const MANIFEST = join(ROOT, 'test', 'frameworks')
const FILES = ['package.json', 'package-lock.json']

function folder() {
  const lock = readFileSync(join(MANIFEST, 'package-lock.json'))
  const version = createHash('sha256').update(lock).digest('hex').slice(0, 12)
  return join(ROOT, '.cache', 'frameworks', version)
}

/** Returns `undefined` if the frameworks are not in the cache. */
export function findFrameworks() {
  return existsSync(folder()) ? folder() : undefined
}

/** Returns the folder with the `node_modules` of the frameworks. Installs them first if they are not in the cache. */
export function fetchFrameworks() {
  const target = folder()
  if (existsSync(target)) return target
  // Installs into another folder first, so that an incomplete install is never used.
  const draft = `${target}.${process.pid}`
  mkdirSync(draft, { recursive: true })
  for (const file of FILES) cpSync(join(MANIFEST, file), join(draft, file))
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--fetch-retries=1']
  const { status, stderr } = spawnSync('npm', args, { cwd: draft, encoding: 'utf8' })
  if (status !== 0) {
    rmSync(draft, { recursive: true, force: true })
    throw new Error(`npm could not install the frameworks: ${stderr}`)
  }
  try {
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    // Another process may have installed the frameworks in the meantime.
    if (!existsSync(target)) throw error
  }
  return target
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(fetchFrameworks())
