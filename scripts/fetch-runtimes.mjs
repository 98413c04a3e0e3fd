// Installs the runtimes of runtimes.json, in exact versions, into .cache/runtimes, unless they are there already. Usage:
//   node scripts/fetch-runtimes.mjs [name...]
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const CACHE = join(ROOT, '.cache', 'runtimes')

/** Entries are `{ package, version, binary, integrity, dependencies? }`. */
export const MANIFEST = JSON.parse(readFileSync(new URL('./runtimes.json', import.meta.url), 'utf8'))

const folderOf = (name, pin) => join(CACHE, `${name}-${pin.version}`)
const pathOf = (name, pin) => join(folderOf(name, pin), 'node_modules', pin.package, pin.binary)

export function findRuntime(name, pin = MANIFEST[name]) {
  const path = pathOf(name, pin)
  return existsSync(path) ? path : undefined
}

/** Installs the runtime first if it is not in the cache. Returns the path of its binary. */
export function fetchRuntime(name, pin = MANIFEST[name]) {
  const found = findRuntime(name, pin)
  if (found !== undefined) return found
  const { package: id, version, integrity, dependencies: further = {} } = pin
  const folder = folderOf(name, pin)
  // Installs into another folder first, so that an interrupted install is never used.
  const draft = `${folder}.${process.pid}`
  mkdirSync(draft, { recursive: true })
  const dependencies = { [id]: version }
  const write = (file, value) => writeFileSync(join(draft, file), JSON.stringify(value, undefined, 2))
  write('package.json', { private: true, dependencies })
  // With the lockfile, npm verifies the hashes of the packages.
  const packages = {
    '': { dependencies },
    [`node_modules/${id}`]: {
      version,
      integrity,
      dependencies: Object.fromEntries(Object.entries(further).map(([id, { version }]) => [id, version])),
    },
    ...Object.fromEntries(Object.entries(further).map(([id, entry]) => [`node_modules/${id}`, entry])),
  }
  write('package-lock.json', { lockfileVersion: 3, requires: true, packages })
  const args = [
    'ci',
    '--ignore-scripts',
    '--legacy-peer-deps',
    '--no-audit',
    '--no-fund',
    '--fetch-retries=1',
  ]
  const { status, stderr } = spawnSync('npm', args, { cwd: draft, encoding: 'utf8' })
  if (status !== 0) {
    rmSync(draft, { recursive: true, force: true })
    throw new Error(`npm could not install ${id}@${version}: ${stderr}`)
  }
  rmSync(folder, { recursive: true, force: true })
  renameSync(draft, folder)
  return pathOf(name, pin)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2)
  for (const name of names.length > 0 ? names : Object.keys(MANIFEST)) console.log(name, fetchRuntime(name))
}
