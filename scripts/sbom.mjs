// Writes a software bill of materials (CycloneDX) beside each packed package: `node scripts/sbom.mjs FOLDER`. `npm sbom` lists the
// dependencies of a manifest; the packages that are compiled in, which dist/LICENSES.txt names, are added to them first.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { readLicenses } from './licenses.mjs'

const folder = resolve(process.argv[2])
for (const name of readdirSync(folder).filter((name) => name.endsWith('.tgz'))) {
  const alone = mkdtempSync(join(tmpdir(), 'trackpost-sbom-'))
  const run = (program, ...args) => execFileSync(program, args, { cwd: alone, encoding: 'utf8' })
  try {
    run('tar', '-xzf', join(folder, name), '--strip-components=1')
    const { devDependencies, peerDependencies, peerDependenciesMeta, workspaces, ...manifest } = JSON.parse(
      readFileSync(join(alone, 'package.json'), 'utf8'),
    )
    const licenses = join(alone, 'dist/LICENSES.txt')
    const compiledIn = Object.fromEntries(
      [...(existsSync(licenses) ? readLicenses(licenses).keys() : [])].map((one) => {
        const at = one.lastIndexOf('@')
        return [one.slice(0, at), one.slice(at + 1)]
      }),
    )
    manifest.dependencies = { ...manifest.dependencies, ...compiledIn }
    writeFileSync(join(alone, 'package.json'), JSON.stringify(manifest))
    run('npm', 'install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund')
    const bill = run('npm', 'sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=library')
    writeFileSync(join(folder, name.replace(/\.tgz$/, '.cdx.json')), bill)
    console.log(`${name}: ${JSON.parse(bill).components.length} component(s) in addition to the package`)
  } finally {
    rmSync(alone, { recursive: true })
  }
}
