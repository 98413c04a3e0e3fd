// A plugin of esbuild: lists the licences of other packages that a build contains in LICENSES.txt, which is
// shipped.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const BETWEEN = `\n${'-'.repeat(80)}\n\n`

/** The packages that are compiled into a package, from its LICENSES.txt: licences by name. */
export function readLicenses(path) {
  const parts = readFileSync(path, 'utf8').split(BETWEEN)
  return new Map(parts.map((part) => [part.split('\n', 1)[0], part.slice(part.indexOf('\n')).trim()]))
}

/**
 * One plugin for all builds of a package, which share the list.
 *
 * @param path Where to write the file.
 * @param within The LICENSES.txt of a package that is compiled in, with the packages that it contains itself.
 */
export function licenses(path, within) {
  const texts = new Map()
  const write = ({ metafile }) => {
    if (within !== undefined) for (const [name, text] of readLicenses(within)) texts.set(name, () => text)
    for (const input of Object.keys(metafile?.inputs ?? {})) {
      const [, folder, name] = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(input) ?? []
      if (folder === undefined || texts.has(name)) continue
      const file = readdirSync(folder).find((one) => /^licen[sc]e/i.test(one))
      const { license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
      texts.set(name, () => (file === undefined ? license : readFileSync(`${folder}/${file}`, 'utf8')))
    }
    const parts = [...texts].sort().map(([name, text]) => `${name}\n\n${text().trim()}\n`)
    // The folder may not exist yet: esbuild writes the output after its plugins have ended.
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, parts.join(BETWEEN))
  }
  return { name: 'licenses', setup: (build) => build.onEnd(write) }
}
