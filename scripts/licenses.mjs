// An esbuild plugin that writes the licences of all bundled packages to LICENSES.txt, which is published with the package.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const BETWEEN = `\n${'-'.repeat(80)}\n\n`

/** Returns the licences of the bundled packages, by name and version (`jose@6.2.17`). */
export function readLicenses(path) {
  const parts = readFileSync(path, 'utf8').split(BETWEEN)
  return new Map(parts.map((part) => [part.split('\n', 1)[0], part.slice(part.indexOf('\n')).trim()]))
}

/**
 * Creates one plugin for all builds of a package, which together write one file.
 *
 * @param {string} path
 * @param {string} [within] The LICENSES.txt of a bundled package, whose own bundled packages are listed too.
 */
export function licenses(path, within) {
  const texts = new Map()
  const seen = new Set()
  const write = ({ metafile }) => {
    if (within !== undefined) for (const [name, text] of readLicenses(within)) texts.set(name, () => text)
    for (const input of Object.keys(metafile?.inputs ?? {})) {
      const [, folder, name] = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(input) ?? []
      if (folder === undefined || seen.has(folder)) continue
      seen.add(folder)
      const file = readdirSync(folder).find((one) => /^licen[sc]e/i.test(one))
      const { license, version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
      texts.set(`${name}@${version}`, () =>
        file === undefined ? license : readFileSync(`${folder}/${file}`, 'utf8'),
      )
    }
    const parts = [...texts].sort().map(([name, text]) => `${name}\n\n${text().trim()}\n`)
    // The folder may not exist yet: tsup writes the build after the plugins of esbuild have run.
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, parts.join(BETWEEN))
  }
  return { name: 'licenses', setup: (build) => build.onEnd(write) }
}
