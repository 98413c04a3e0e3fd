// Installs the packages that some tests need and that are too large for the dependencies of the project, into .cache, unless
// they are there already. Usage:
//   node scripts/fetch-packages.mjs FOLDER...    folders with a package.json and a lockfile
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

function cacheOf(folder) {
  const lock = readFileSync(join(ROOT, folder, 'package-lock.json'))
  const version = createHash('sha256').update(lock).digest('hex').slice(0, 12)
  return join(ROOT, '.cache', folder.replaceAll('/', '-'), version)
}

/** Returns the folder that has the packages in `node_modules`, or `undefined` if they are not in the cache. */
export function findPackages(folder) {
  return [cacheOf(folder)].find(existsSync)
}

/**
 * Installs the packages first if they are not in the cache. Optional ones are missing afterwards if they are made for another
 * platform. Returns what {@link findPackages} returns.
 */
export async function fetchPackages(folder) {
  const target = cacheOf(folder)
  if (existsSync(target)) return target
  // Installs into another folder first, so that an incomplete install is never used.
  const draft = `${target}.${process.pid}`
  mkdirSync(draft, { recursive: true })
  for (const file of ['package.json', 'package-lock.json'])
    cpSync(join(ROOT, folder, file), join(draft, file))
  const args = 'ci --ignore-scripts --legacy-peer-deps --no-audit --no-fund --fetch-retries=1'.split(' ')
  try {
    // On Windows, npm is a script that only a shell can run.
    await promisify(execFile)('npm', args, { cwd: draft, shell: process.platform === 'win32' })
    renameSync(draft, target)
  } catch (cause) {
    rmSync(draft, { recursive: true, force: true })
    // Another process may have installed the packages in the meantime.
    if (!existsSync(target)) throw new Error(`the packages of ${folder} could not be installed`, { cause })
  }
  return target
}

/** Fetches several folders at once. A failure, for instance without a network, is only printed. Returns whether there was none. */
export async function tryFetchPackages(folders) {
  const results = await Promise.allSettled(folders.map(fetchPackages))
  for (const { reason } of results) {
    if (reason === undefined) continue
    const lines = reason.cause.message.split('\n', 5)
    console.error(`SKIPPED: tests that need them, since ${reason.message}: ${lines.join(' ')}`)
  }
  return results.every(({ status }) => status === 'fulfilled')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!(await tryFetchPackages(process.argv.slice(2)))) process.exitCode = 1
}
