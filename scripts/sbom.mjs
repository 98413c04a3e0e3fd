// Writes a software bill of materials (CycloneDX) for each package to sbom/NAME.cdx.json. A bill lists the published package,
// its dependencies, and the packages that are compiled in (from the LICENSES.txt of the build), with the versions, licences and
// hashes of the lockfile. Usage: `node scripts/sbom.mjs [folder ...]`. Default: all packages.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readLicenses } from './licenses.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const readJSON = (path) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'))

const { workspaces } = readJSON('package.json')
mkdirSync(join(ROOT, 'sbom'), { recursive: true })
const folders = process.argv.slice(2).map((folder) => (folder === '.' ? '' : folder))
for (const folder of folders.length > 0 ? folders : ['', ...workspaces]) {
  const { name, components } = writeBill(folder)
  console.log(`sbom/${name}.cdx.json: ${components} component(s) in addition to the package`)
}

/** `npm sbom` describes a folder, so a temporary folder gets the manifest of the package and its part of the lockfile. */
function writeBill(folder) {
  const lock = readJSON('package-lock.json')
  const compiledIn = [...readLicenses(join(ROOT, folder, 'dist/LICENSES.txt')).keys()]
  const versions = Object.fromEntries(compiledIn.map((name) => [name, versionOf(name, folder, lock)]))
  const manifest = asInstalled(readJSON(join(folder, 'package.json')), versions)
  const alone = mkdtempSync(join(tmpdir(), 'trackpost-sbom-'))
  try {
    const { [folder]: own, ...packages } = lock.packages
    lock.packages = { '': asInstalled(own, versions), ...packagesFor(folder, packages) }
    writeFileSync(join(alone, 'package.json'), JSON.stringify(manifest))
    writeFileSync(join(alone, 'package-lock.json'), JSON.stringify({ ...lock, name: manifest.name }))
    const npm = (...args) =>
      execFileSync('npm', args, { cwd: alone, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    const bill = npm('sbom', '--package-lock-only', '--sbom-format=cyclonedx')
    writeFileSync(join(ROOT, 'sbom', `${manifest.name}.cdx.json`), bill)
    return { name: manifest.name, components: JSON.parse(bill).components.length }
  } finally {
    rmSync(alone, { recursive: true })
  }
}

function versionOf(name, folder, { packages }) {
  return (packages[join(folder, 'node_modules', name)] ?? packages[`node_modules/${name}`]).version
}

/**
 * Compiled-in packages become dependencies. Packages that an install leaves out are removed: optional peers, development
 * dependencies, and the other packages of the repository.
 */
function asInstalled(
  { devDependencies, workspaces, peerDependencies, peerDependenciesMeta, ...rest },
  compiledIn,
) {
  return { ...rest, dependencies: { ...rest.dependencies, ...compiledIn } }
}

/** Entries below the folder of the package are moved to the top. Links and entries below other folders are left out. */
function packagesFor(folder, packages) {
  const top = `${folder}/node_modules/`
  const entries = Object.entries(packages).filter(
    ([path, { link }]) => path.startsWith('node_modules/') && link !== true,
  )
  const nested = Object.entries(packages).filter(([path]) => folder !== '' && path.startsWith(top))
  return Object.fromEntries([
    ...entries,
    ...nested.map(([path, entry]) => [path.slice(folder.length + 1), entry]),
  ])
}
