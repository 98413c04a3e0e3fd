// A plugin of esbuild: what a build takes in of other packages is shipped under their licences, in LICENSES.txt.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * For all builds of one package, which are listed together.
 *
 * @param path Where the file is to be.
 * @param further Packages that a package of the build has taken in itself: name to file of the licence.
 */
export function licenses(path, further = {}) {
  const texts = new Map(
    Object.entries(further).map(([name, file]) => [name, () => readFileSync(file, 'utf8')]),
  )
  const write = ({ metafile }) => {
    for (const input of Object.keys(metafile?.inputs ?? {})) {
      const [, folder, name] = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(input) ?? []
      if (folder === undefined || texts.has(name)) continue
      const file = readdirSync(folder).find((one) => /^licen[sc]e/i.test(one))
      const { license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
      texts.set(name, () => (file === undefined ? license : readFileSync(`${folder}/${file}`, 'utf8')))
    }
    const parts = [...texts].sort().map(([name, text]) => `${name}\n\n${text().trim()}\n`)
    // The build is written when its plugins are done.
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, parts.join(`\n${'-'.repeat(80)}\n\n`))
  }
  return { name: 'licenses', setup: (build) => build.onEnd(write) }
}
